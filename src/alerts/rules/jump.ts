import { decimalFraction } from './measures/fraction.ts';
import type { Pace } from './pace/pace.ts';
import {
  clear,
  holds,
  type Judgement,
  type Level,
  type PeriodPhase,
  type PreviousPeriod,
  UNDECIDED,
  WAVERING,
} from './rule.ts';

const DAY_MS = 86_400_000;
/** Before that, a busy beginning looks like a trend. */
export const PACE_MIN_ELAPSED_MS = 5 * DAY_MS;
/** The pace must hold in each run over a day; the run at the same hour of the next day counts, a little early or late. */
export const PACE_CONFIRM_MS = DAY_MS - 1_800_000;

export interface JumpInput {
  /** Credits. */
  current: bigint;
  previous: PreviousPeriod;
  /** Credits from which on it is a jump, see `buildThreshold`; null when there is nothing to compare with. */
  threshold: { credits: bigint; baseline: bigint } | null;
  phase: PeriodPhase;
  /** The level of the alert that fires already; null when none does. */
  firing: Level | null;
  /** Of an open period, no pace is judged before this fraction of it has passed. */
  paceMinFraction: number;
  /** Where an open period heads; asked only when nothing else decides. Null: there is no past to compare with. */
  pace: (() => Pace) | null;
}

/**
 * Tells whether credits jumped against what they are compared with, in three levels: `likely` while an open period heads
 * for the threshold, `happened` once the credits used so far are over it, `settled` when the period has settled. There is
 * no jump without something to compare with.
 */
export function judgeJump(input: JumpInput): Judgement {
  const { current, previous, threshold, phase } = input;
  // Without a figure to compare with, an alert that fires has lost its cause: its period before was withdrawn.
  if (threshold === null || previous.figures === null || previous.figures.credits <= 0n) return clear(phase.settled);
  if (!previous.usable) return clear(phase.settled);
  const { credits: limit, baseline } = threshold;
  // A ratio of 1 or less without a floor puts the limit at or below the baseline; no growth is no jump.
  if (current >= limit && current > baseline) {
    const level = phase.settled && phase.over ? 'settled' : 'happened';
    return holds({ level, severity: 'critical', threshold: limit, measure: current });
  }
  if (phase.settled && phase.over) {
    // What a settled month has not reached, it never jumped to, however close it came; only a settled alert wavers.
    return input.firing !== 'settled' || current * 10n < limit * 9n ? clear(true) : UNDECIDED;
  }
  if (phase.over) return current * 10n < limit * 9n || current <= baseline ? clear(false) : UNDECIDED;
  if (input.pace === null || !paceIsTelling(phase, input.paceMinFraction)) {
    return input.firing === null ? clear(false) : UNDECIDED;
  }
  const { verdict, projection: projected } = input.pace();
  if (projected !== null && projected <= baseline) return clear(false);
  if (verdict === 'ahead') {
    return holds({
      ...{ level: 'likely', severity: 'warning', threshold: limit },
      ...{ measure: projected, confirmAfterMs: PACE_CONFIRM_MS },
    });
  }
  if (verdict === 'wavering') return { ...WAVERING, measure: projected };
  return verdict === 'behind' ? clear(false) : { ...UNDECIDED, measure: projected };
}

/** When the pace of a period begins to tell something: milliseconds after its start. */
export function paceFromMs(lengthMs: number, minFraction: number): number {
  const { numerator, denominator } = decimalFraction(minFraction, 'alerts.pace_min_fraction');
  return Math.max(PACE_MIN_ELAPSED_MS, Math.ceil((lengthMs * Number(numerator)) / Number(denominator)));
}

/** Whether enough of an open period has passed to say where it heads. */
export function paceIsTelling({ elapsedMs, lengthMs, over }: PeriodPhase, minFraction: number): boolean {
  return !over && elapsedMs >= paceFromMs(lengthMs, minFraction);
}
