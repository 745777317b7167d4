import type { PeriodPhase } from './judgement.ts';

/** The credits of the whole period at the rate so far, rounded down; what is there already when it is over. */
export function projection(current: bigint, { elapsedMs, lengthMs, over }: PeriodPhase): bigint {
  if (over) return current;
  return elapsedMs <= 0 ? 0n : (current * BigInt(lengthMs)) / BigInt(elapsedMs);
}
