import type { UsageFigures } from './usage-figures.ts';

export interface ChangeSplit {
  /** What the change in requests alone would have made, at the credits per request of before. */
  volume: bigint;
  /** The rest: what each request costs more or less. */
  intensity: bigint;
}

/** Null when there were no requests before, so that there is no rate of before. */
export function splitChange(previous: UsageFigures, current: UsageFigures): ChangeSplit | null {
  if (previous.requests <= 0n) return null;
  const product = (current.requests - previous.requests) * previous.credits;
  const volume = roundedQuotient(product, previous.requests);
  return { volume, intensity: current.credits - previous.credits - volume };
}

/** Rounded half away from zero; the divisor is positive. */
function roundedQuotient(value: bigint, divisor: bigint): bigint {
  const size = value < 0n ? -value : value;
  const quotient = (size * 2n + divisor) / (2n * divisor);
  return value < 0n ? -quotient : quotient;
}
