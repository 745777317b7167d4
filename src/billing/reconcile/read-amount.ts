import { canDenote, minorDigits, parseMinor } from '../../core/money.ts';

export const DECIMAL_MARKS = ['point', 'comma'] as const;
export type DecimalMark = (typeof DECIMAL_MARKS)[number];

const MARKS = { point: '.', comma: ',' } as const;

/**
 * The reason why a text is not accepted as an amount. `ambiguous` means that the decimal mark could be the point or the
 * comma. `too_fine` means that the amount has more decimal places than the currency.
 */
export type AmountFault = 'not_an_amount' | 'ambiguous' | 'too_fine';

/**
 * The result of reading an amount. `minor` is the amount in minor units. `otherCurrency` is a symbol or code in the
 * text that does not denote the expected currency. `fault` is any other reason why the text is not accepted.
 */
export type ReadAmount = { minor: bigint } | { otherCurrency: string } | { fault: AmountFault };

/**
 * Returns a function that reads the amounts of one column. It accepts the forms of spreadsheets and invoice programs:
 * 1,234.50 and 1.234,50 and 1 234,50. A currency may come before or after the number. A negative amount has a minus
 * sign on either side or is in brackets. `given` is the decimal mark of the column. If it is absent, the decimal mark
 * is found from all amounts of the column together.
 */
export function createAmountReader(
  column: readonly string[],
  given?: DecimalMark,
): (text: string, currency: string) => ReadAmount {
  const shown = new Set(column.flatMap((text) => findDecimalMark(stripAmount(text)?.digits ?? '') ?? []));
  const [only, other] = [...shown];
  const mark = given ?? (other === undefined ? only : undefined);
  return (text, currency) => {
    const bare = stripAmount(text);
    if (bare === null) return { fault: 'not_an_amount' };
    const otherCurrency = bare.marks.find((one) => !canDenote(one, currency));
    if (otherCurrency !== undefined) return { otherCurrency };
    const decimalMark = mark ?? guessDecimalMark(bare.digits, currency, shown.size === 0);
    const plain = toPlainDecimal(bare.digits, decimalMark);
    if (plain === null) return { fault: decimalMark === undefined ? 'ambiguous' : 'not_an_amount' };
    return readPlainAmount(bare.isNegative ? `-${plain}` : plain, currency);
  };
}

/** Reads an amount that is a plain decimal with a point, as workbooks store numbers. */
export function readPlainAmount(text: string, currency: string): ReadAmount {
  const minor = parseMinor(text, currency);
  if (minor !== null) return { minor };
  return { fault: /^-?\d{1,18}\.\d+$/.test(text) ? 'too_fine' : 'not_an_amount' };
}

/** Reads an amount that is a whole number of minor units, such as cents. */
export function readMinorAmount(text: string): ReadAmount {
  const plain = text.trim();
  return /^-?\d{1,18}$/.test(plain) ? { minor: BigInt(plain) } : { fault: 'not_an_amount' };
}

/**
 * Returns the decimal mark of one amount, for a column whose amounts do not show it. In a currency without decimals, a
 * point or comma before three digits separates thousands. Returns undefined if the mark stays unknown.
 */
function guessDecimalMark(digits: string, currency: string, isFirst: boolean): DecimalMark | undefined {
  const [, only] = /^\d{1,3}([.,])\d{3}$/.exec(digits) ?? [];
  if (only !== undefined && minorDigits(currency) === 0) return only === MARKS.point ? 'comma' : 'point';
  return isFirst && isPlain(digits) ? 'point' : undefined;
}

interface BareAmount {
  digits: string;
  isNegative: boolean;
  marks: string[];
}

/**
 * Removes the currency, spaces and signs from an amount. Returns null if anything but digits, points and commas
 * remains.
 */
function stripAmount(text: string): BareAmount | null {
  const tight = text.replaceAll(/[\s\u00a0\u202f'’]/g, '').replaceAll('\u2212', '-');
  const [, open, before, mark, inner = '', markBehind, after, close] =
    /^(\()?(-|\+)?([A-Z]{3}|\p{Sc})?((?:-)?[\d.,]+)([A-Z]{3}|\p{Sc})?(-)?(\))?$/u.exec(tight) ?? [];
  const signs = [before, after, inner.startsWith('-') ? '-' : undefined].filter((sign) => sign === '-').length;
  const isBracketed = open !== undefined && close !== undefined;
  if (!/\d/.test(inner) || signs > 1 || (isBracketed && signs > 0) || (open === undefined) !== (close === undefined)) {
    return null;
  }
  const marks = [mark, markBehind].filter((one) => one !== undefined);
  return { digits: inner.replace('-', ''), isNegative: signs === 1 || isBracketed, marks };
}

/** Returns the decimal mark if it is clear from this amount alone; otherwise null. */
function findDecimalMark(digits: string): DecimalMark | null {
  const last = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','));
  if (last < 0) return null;
  const mark = digits[last] === '.' ? 'point' : 'comma';
  const other = mark === 'point' ? 'comma' : 'point';
  if (digits.includes(MARKS[other])) return mark;
  if (digits.indexOf(MARKS[mark]) < last) return other;
  return digits.length - last - 1 === 3 ? null : mark;
}

/**
 * Returns a plain decimal with a point and without thousands separators. Returns null if the digits are grouped
 * incorrectly, or if the amount has a point or comma and `mark` is undefined.
 */
function toPlainDecimal(digits: string, mark: DecimalMark | undefined): string | null {
  if (/^\d+$/.test(digits)) return digits;
  if (mark === undefined) return null;
  const group = mark === 'point' ? ',' : '\\.';
  const form = new RegExp(`^(\\d+|\\d{1,3}(?:${group}\\d{3})+)(?:\\${MARKS[mark]}(\\d+))?$`);
  const [, whole, part] = form.exec(digits) ?? [];
  if (whole === undefined) return null;
  return `${whole.replaceAll(/[.,]/g, '')}${part === undefined ? '' : `.${part}`}`;
}

/**
 * Reports whether the amount contains one point, and this must be the decimal mark. A point before exactly three digits
 * could also separate thousands.
 */
function isPlain(digits: string): boolean {
  return /^\d+\.\d+$/.test(digits) && findDecimalMark(digits) === 'point';
}
