import { canDenote, minorDigits, parseMinor } from '../../core/money.ts';

export type DecimalMark = 'point' | 'comma';

const MARKS = { point: '.', comma: ',' } as const;

/** `too_fine`: it has more decimals than the currency. */
export type AmountFault = 'not_an_amount' | 'ambiguous' | 'too_fine';

/** `otherCurrency` is a sign or code beside the amount that does not mean its currency. */
export type ReadAmount = { minor: bigint } | { otherCurrency: string } | { fault: AmountFault };

/**
 * Reads amounts as spreadsheets and invoice programs write them: 1,234.50 and 1.234,50 and 1 234,50, with a currency before or
 * after it, negative with a sign on either side or in brackets. Which mark is the decimal one shows in the column as a whole;
 * `given` decides it where it does not.
 */
export function amountReader(
  column: readonly string[],
  given?: DecimalMark,
): (text: string, currency: string) => ReadAmount {
  const shown = new Set(column.flatMap((text) => shownBy(bareAmount(text)?.digits ?? '') ?? []));
  const [only, other] = [...shown];
  const mark = given ?? (other === undefined ? only : undefined);
  return (text, currency) => {
    const bare = bareAmount(text);
    if (bare === null) return { fault: 'not_an_amount' };
    const otherCurrency = bare.marks.find((one) => !canDenote(one, currency));
    if (otherCurrency !== undefined) return { otherCurrency };
    const decimalMark = mark ?? markOf(bare.digits, currency, shown.size === 0);
    const plain = plainDecimal(bare.digits, decimalMark);
    if (plain === null) return { fault: decimalMark === undefined ? 'ambiguous' : 'not_an_amount' };
    return plainAmount(bare.isNegative ? `-${plain}` : plain, currency);
  };
}

/** Reads a plain decimal with a point, as workbooks store numbers. */
export function plainAmount(text: string, currency: string): ReadAmount {
  const minor = parseMinor(text, currency);
  if (minor !== null) return { minor };
  return { fault: /^-?\d{1,18}\.\d+$/.test(text) ? 'too_fine' : 'not_an_amount' };
}

/** Reads an amount of minor units, such as cents: a whole number. */
export function minorAmount(text: string): ReadAmount {
  const plain = text.trim();
  return /^-?\d{1,18}$/.test(plain) ? { minor: BigInt(plain) } : { fault: 'not_an_amount' };
}

/** The decimal mark of an amount in a column that shows none; a currency without decimals has thousands before three digits. */
function markOf(digits: string, currency: string, isFirst: boolean): DecimalMark | undefined {
  const [, only] = /^\d{1,3}([.,])\d{3}$/.exec(digits) ?? [];
  if (only !== undefined && minorDigits(currency) === 0) return only === MARKS.point ? 'comma' : 'point';
  return isFirst && isPlain(digits) ? 'point' : undefined;
}

interface BareAmount {
  digits: string;
  isNegative: boolean;
  marks: string[];
}

/** What is left without currency, spaces and signs; null when something else is in it. */
function bareAmount(text: string): BareAmount | null {
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

/** The decimal mark that this amount alone gives away. */
function shownBy(digits: string): DecimalMark | null {
  const last = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','));
  if (last < 0) return null;
  const mark = digits[last] === '.' ? 'point' : 'comma';
  const other = mark === 'point' ? 'comma' : 'point';
  if (digits.includes(MARKS[other])) return mark;
  if (digits.indexOf(MARKS[mark]) < last) return other;
  return digits.length - last - 1 === 3 ? null : mark;
}

/** Groups of three with the other mark between them, then the decimals. */
function plainDecimal(digits: string, mark: DecimalMark | undefined): string | null {
  if (/^\d+$/.test(digits)) return digits;
  if (mark === undefined) return null;
  const group = mark === 'point' ? ',' : '\\.';
  const form = new RegExp(`^(\\d+|\\d{1,3}(?:${group}\\d{3})+)(?:\\${MARKS[mark]}(\\d+))?$`);
  const [, whole, part] = form.exec(digits) ?? [];
  if (whole === undefined) return null;
  return `${whole.replaceAll(/[.,]/g, '')}${part === undefined ? '' : `.${part}`}`;
}

/** A point alone is the decimal one in the plain form; one with three digits behind it could be either. */
function isPlain(digits: string): boolean {
  return /^\d+\.\d+$/.test(digits) && shownBy(digits) === 'point';
}
