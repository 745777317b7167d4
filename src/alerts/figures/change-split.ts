import type { UsageFigures } from './usage-figures.ts';

export interface ChangeSplit {
  /** The effect of the changed number of requests, at the previous credits per request. */
  volume: bigint;
  /** The rest: the effect of changed credits per request. */
  intensity: bigint;
}

/** Splits a change of credits into volume and intensity, in credits. Null if there were no requests before. */
export function splitCreditChange(previous: UsageFigures, current: UsageFigures): ChangeSplit | null {
  if (previous.requests <= 0n) return null;
  const product = (current.requests - previous.requests) * previous.credits;
  const volume = roundedQuotient(product, previous.requests);
  return { volume, intensity: current.credits - previous.credits - volume };
}

/** Returns the quotient rounded half away from zero. The divisor must be positive. */
function roundedQuotient(value: bigint, divisor: bigint): bigint {
  const size = value < 0n ? -value : value;
  const quotient = (size * 2n + divisor) / (2n * divisor);
  return value < 0n ? -quotient : quotient;
}
