import type { Rounding } from '../../core/money.ts';

/** An exact decimal: `digits / 10^scale`. Never negative. */
export interface Decimal {
  digits: bigint;
  scale: bigint;
}

/** Reads a plain decimal such as `0.0125`, as the rate cards' schema lets it through. */
export function parseDecimal(text: string): Decimal {
  const [whole = '', part = ''] = text.split('.');
  return { digits: BigInt(whole + part), scale: 10n ** BigInt(part.length) };
}

/** The whole number nearest to `over / under`, neither of which is negative. */
export function divideRounded(over: bigint, under: bigint, rounding: Rounding): bigint {
  const whole = over / under;
  const twice = (over - whole * under) * 2n;
  if (twice < under) return whole;
  if (twice > under || rounding === 'half_up') return whole + 1n;
  return whole + (whole & 1n);
}

/** `decimal` times a whole number, exact and without superfluous zeros: 0.0125 x 1000 is `12.5`. */
export function timesWhole(decimal: string, factor: bigint): string {
  const { digits, scale } = parseDecimal(decimal);
  return decimalText(digits * factor, scale);
}

/** `decimal` less some percent of it, exact and without superfluous zeros: 0.0125 less 10 % is `0.01125`. */
export function lessPercent(decimal: string, percent: string): string {
  const [price, off] = [parseDecimal(decimal), parseDecimal(percent)];
  return decimalText(price.digits * (100n * off.scale - off.digits), price.scale * off.scale * 100n);
}

/** `digits / scale` as text; the scale is a power of ten. */
function decimalText(digits: bigint, scale: bigint): string {
  const places = scale.toString().length - 1;
  const text = (digits < 0n ? -digits : digits).toString().padStart(places + 1, '0');
  const whole = text.slice(0, text.length - places);
  const part = text.slice(text.length - places).replace(/0+$/, '');
  return `${digits < 0n ? '-' : ''}${whole}${part === '' ? '' : `.${part}`}`;
}
