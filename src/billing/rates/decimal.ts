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
  const product = digits * factor;
  const places = scale.toString().length - 1;
  const text = (product < 0n ? -product : product).toString().padStart(places + 1, '0');
  const whole = text.slice(0, text.length - places);
  const part = text.slice(text.length - places).replace(/0+$/, '');
  return `${product < 0n ? '-' : ''}${whole}${part === '' ? '' : `.${part}`}`;
}
