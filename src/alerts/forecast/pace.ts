import { DAY_MS } from '../../core/durations.ts';
import { toFraction } from '../figures/fraction.ts';
import type { PeriodPhase } from '../figures/period-phase.ts';

/** Earlier in the month, a few busy days look like a trend. */
const PACE_MIN_ELAPSED_MS = 5 * DAY_MS;
/** The pace must hold in every run for a day. Slightly less, so that the run at the same hour of the next day counts. */
export const PACE_CONFIRMATION_MS = DAY_MS - 1_800_000;

/** Returns the time after the start of a period from which its pace is judged, in milliseconds. */
export function paceFromMs(lengthMs: number, minFraction: number): number {
  const { numerator, denominator } = toFraction(minFraction, 'alerts.pace_min_fraction');
  return Math.max(PACE_MIN_ELAPSED_MS, Math.ceil((lengthMs * Number(numerator)) / Number(denominator)));
}

/** Reports whether enough of an open period has passed to judge its pace. */
export function canJudgePace({ elapsedMs, lengthMs, over }: PeriodPhase, minFraction: number): boolean {
  return !over && elapsedMs >= paceFromMs(lengthMs, minFraction);
}
