import { canDenote, minorDigits, parseMinor } from '../../core/money.ts';

export const DECIMAL_MARKS = ['point', 'comma'] as const;
export type DecimalMark = (typeof DECIMAL_MARKS)[number];

const MARKS = { point: '.', comma: ',' } as const;

/** The reason why a text is not accepted as an amount. `too_fine`: it has more decimals than the currency. */
export type AmountFault = 'not_an_amount' | 'ambiguous' | 'too_fine';

/** An amount or the reason why there is none. `otherCurrency` is a symbol or code that does not denote the currency. */
export type ReadAmount = { minor: bigint } | { otherCurrency: string } | { fault: AmountFault };

/**
 * Creates a reader for the amounts of one column, in the forms of spreadsheets and invoice programs: 1,234.50 and
 * 1.234,50 and 1 234,50, with a currency before or after the number, and negative by a sign on either side or by
 * brackets. `given` is the decimal mark; without it, the column as a whole must show the mark.
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

/** Reads a plain decimal with a point, as workbooks store numbers. */
export function readPlainAmount(text: string, currency: string): ReadAmount {
  const minor = parseMinor(text, currency);
  if (minor !== null) return { minor };
  return { fault: /^-?\d{1,18}\.\d+$/.test(text) ? 'too_fine' : 'not_an_amount' };
}

/** Reads an amount of minor units, such as cents: a whole number. */
export function readMinorAmount(text: string): ReadAmount {
  const plain = text.trim();
  return /^-?\d{1,18}$/.test(plain) ? { minor: BigInt(plain) } : { fault: 'not_an_amount' };
}

/**
 * Returns the decimal mark of one amount if the column does not show it. In a currency without decimals, a mark before
 * three digits separates thousands.
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

/** Strips the currency, spaces and signs. Returns null if anything but digits and marks remains. */
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

/** Returns the decimal mark if this amount alone shows it, otherwise null. */
function findDecimalMark(digits: string): DecimalMark | null {
  const last = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','));
  if (last < 0) return null;
  const mark = digits[last] === '.' ? 'point' : 'comma';
  const other = mark === 'point' ? 'comma' : 'point';
  if (digits.includes(MARKS[other])) return mark;
  if (digits.indexOf(MARKS[mark]) < last) return other;
  return digits.length - last - 1 === 3 ? null : mark;
}

/** Returns a plain decimal without thousands separators, or null if the digits are grouped incorrectly. */
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
 * Reports whether the amount has one point that must be the decimal mark. A point before exactly three digits is
 * ambiguous.
 */
function isPlain(digits: string): boolean {
  return /^\d+\.\d+$/.test(digits) && findDecimalMark(digits) === 'point';
}
