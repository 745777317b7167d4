import { DAY_MS } from '../../core/durations.ts';
import { toFraction } from '../figures/fraction.ts';
import type { PeriodPhase } from '../figures/period-phase.ts';

/** No month is forecast before this much of it has passed, because a few busy days would look like a trend. */
const PACE_MIN_ELAPSED_MS = 5 * DAY_MS;
/**
 * A forecast over the limit must hold in every run for this long: slightly less than a day, so that the run at the same
 * hour of the next day confirms it.
 */
export const PACE_CONFIRMATION_MS = DAY_MS - 1_800_000;

/** Returns how much of a period must have passed before it is forecast, in milliseconds. */
export function paceFromMs(lengthMs: number, minFraction: number): number {
  const { numerator, denominator } = toFraction(minFraction, 'alerts.pace_min_fraction');
  return Math.max(PACE_MIN_ELAPSED_MS, Math.ceil((lengthMs * Number(numerator)) / Number(denominator)));
}

/** Reports whether enough of an open period has passed to forecast it. */
export function canJudgePace({ elapsedMs, lengthMs, over }: PeriodPhase, minFraction: number): boolean {
  return !over && elapsedMs >= paceFromMs(lengthMs, minFraction);
}
