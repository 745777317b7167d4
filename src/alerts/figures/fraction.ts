import { AppError } from '../../core/errors.ts';

/** An exact number: `numerator / denominator`, the denominator a power of ten. */
export interface Fraction {
  numerator: bigint;
  denominator: bigint;
}

const DECIMAL = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/;

/**
 * Parses a decimal number exactly: 1.1 is 11/10, not the nearest binary fraction. Throws `bad_threshold`, which names
 * the setting `what`, for values that are not finite or are below zero.
 */
export function toFraction(value: number, what: string): Fraction {
  const match = DECIMAL.exec(String(value));
  if (match === null) {
    throw new AppError('bad_threshold', `${what} is ${value}`, { hint: 'give a finite number that is not negative' });
  }
  const [, whole = '', decimals = '', exponent = '0'] = match;
  const digits = BigInt(whole + decimals);
  const power = Number(exponent) - decimals.length;
  return power >= 0
    ? { numerator: digits * 10n ** BigInt(power), denominator: 1n }
    : { numerator: digits, denominator: 10n ** BigInt(-power) };
}

/** Returns `factor * value`, rounded up to an integer. */
export function multiplyRoundingUp(factor: Fraction, value: bigint): bigint {
  const product = factor.numerator * value;
  const quotient = product / factor.denominator;
  return product % factor.denominator > 0n ? quotient + 1n : quotient;
}
