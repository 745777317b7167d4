/** The number of significant digits that Excel keeps and shows. */
const EXCEL_DIGITS = 15;
/** Numbers with a larger exponent are refused: no amount or id has so many digits before or after the point. */
const MAX_EXPONENT = 40;

/**
 * Converts the number of a cell to a plain decimal: `45.50` becomes 45.5, and `1.2E3` becomes 1200. Programs store a
 * floating-point number with up to 17 digits, so a formula that totals 45.50 can be stored as 45.499999999999996. A
 * number with a fraction or an exponent is therefore rounded to 15 significant digits, which is what Excel shows. A
 * whole number without an exponent keeps all its digits. Returns null for text that is not a number, and for a number
 * with a fraction or an exponent that has more than 15 digits before the point.
 */
export function plainNumber(raw: string): string | null {
  const [, sign = '', whole = '', part = '', power] =
    /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(raw.trim()) ?? [];
  if (whole + part === '') return null;
  const isAsWritten = power === undefined && /^0*$/.test(part);
  const exponent = Number(power ?? 0);
  if (Math.abs(exponent) > MAX_EXPONENT) return null;
  const digits = (whole + part).replace(/^0+/, '');
  /** The position of the point: the value is 0.DIGITS times ten to the power of `pointAt`. */
  const pointAt = whole.length + exponent - (whole.length + part.length - digits.length);
  const rounded = isAsWritten ? { digits, pointAt } : roundTo(EXCEL_DIGITS, { digits, pointAt });
  return rounded === null ? null : written(sign === '-', rounded);
}

interface Decimal {
  digits: string;
  pointAt: number;
}

function roundTo(most: number, { digits, pointAt }: Decimal): Decimal | null {
  const significant = digits.replace(/0+$/, '');
  if (significant.length <= most) return { digits: significant, pointAt };
  if (pointAt > most) return null;
  const kept = BigInt(significant.slice(0, most)) + (Number(significant[most]) >= 5 ? 1n : 0n);
  const text = kept.toString();
  return { digits: text, pointAt: pointAt + text.length - most };
}

function written(isNegative: boolean, { digits, pointAt }: Decimal): string {
  const padded = pointAt <= 0 ? '0'.repeat(1 - pointAt) + digits : digits.padEnd(pointAt, '0');
  const at = Math.max(pointAt, 1);
  const whole = padded.slice(0, at).replace(/^0+(?=\d)/, '') || '0';
  const part = padded.slice(at).replace(/0+$/, '');
  const text = part === '' ? whole : `${whole}.${part}`;
  return isNegative && text !== '0' ? `-${text}` : text;
}
