import type { Rounding } from '../../config/rate-cards.ts';

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
