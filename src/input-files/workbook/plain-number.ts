/** Excel keeps and shows this many significant digits. */
const EXCEL_DIGITS = 15;
/** No amount or id has more digits before or after the point. */
const MAX_EXPONENT = 40;

/**
 * The number of a cell as a plain decimal, exact: `45.50` is 45.5, `1.2E3` is 1200. Writers store a double with up to 17
 * digits, so a formula that totals 45.50 can leave 45.499999999999996: beyond 15 significant digits a fraction is rounded, to
 * what Excel shows. A whole number keeps all digits that are written. Null where a fraction or an exponent comes with more than
 * 15 digits before the point, or for text that is not a number.
 */
export function plainNumber(raw: string): string | null {
  const [, sign = '', whole = '', part = '', power] =
    /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(raw.trim()) ?? [];
  if (whole + part === '') return null;
  const isAsWritten = power === undefined && /^0*$/.test(part);
  const exponent = Number(power ?? 0);
  if (Math.abs(exponent) > MAX_EXPONENT) return null;
  const digits = (whole + part).replace(/^0+/, '');
  /** The value is 0.DIGITS times ten to this power. */
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
