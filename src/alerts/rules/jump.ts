import { decimalFraction } from './fraction.ts';
import { BETWEEN, clear, holds, type Judgement, type PeriodPhase, type PreviousPeriod, type Stage } from './rule.ts';

const DAY_MS = 86_400_000;
/** Before that, a single busy day looks like a trend. */
export const PACE_MIN_ELAPSED_MS = 3 * DAY_MS;
/** The pace must hold in two runs this far apart. */
export const PACE_CONFIRM_MS = 6 * 3_600_000;

export interface JumpInput {
  /** Credits. */
  current: bigint;
  previous: PreviousPeriod;
  /** Credits from which on it is a jump, see `buildThreshold`; null when there is nothing to compare with. */
  threshold: { credits: bigint; baseline: bigint } | null;
  phase: PeriodPhase;
  /** The stage of the alert that fires already; null when none does. */
  firing: Stage | null;
  /** Of an open period, no pace is judged before this fraction of it has passed. */
  paceMinFraction: number;
}

/**
 * Tells whether credits jumped against what they are compared with, in three stages: `pace` while an open period heads
 * for the threshold, `certain` once the credits used so far are over it, `final` when the period has settled. There is
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
    const stage = phase.settled && phase.over ? 'final' : 'certain';
    return holds({ stage, severity: 'critical', threshold: limit, measure: current });
  }
  const projected = projection(current, phase);
  if (paceIsTelling(phase, input.paceMinFraction) && projected >= limit && projected > baseline) {
    return holds({
      stage: 'pace',
      severity: 'warning',
      threshold: limit,
      measure: projected,
      confirmAfterMs: PACE_CONFIRM_MS,
    });
  }
  if (phase.settled && phase.over) {
    // What a settled month has not reached, it never jumped to, however close it came; only a final alert wavers.
    return input.firing !== 'final' || current * 10n < limit * 9n ? clear(true) : BETWEEN;
  }
  const likely = phase.over ? current : projected;
  return likely * 10n < limit * 9n || likely <= baseline ? clear(false) : BETWEEN;
}

/** The credits of the whole period at the rate so far, rounded down; what is there already when it is over. */
export function projection(current: bigint, { elapsedMs, lengthMs, over }: PeriodPhase): bigint {
  if (over) return current;
  return elapsedMs <= 0 ? 0n : (current * BigInt(lengthMs)) / BigInt(elapsedMs);
}

/** When the pace of a period begins to tell something: milliseconds after its start. */
export function paceFromMs(lengthMs: number, minFraction: number): number {
  const { numerator, denominator } = decimalFraction(minFraction, 'alerts.pace_min_fraction');
  return Math.max(PACE_MIN_ELAPSED_MS, Math.ceil((lengthMs * Number(numerator)) / Number(denominator)));
}

function paceIsTelling({ elapsedMs, lengthMs, over }: PeriodPhase, minFraction: number): boolean {
  return !over && elapsedMs >= paceFromMs(lengthMs, minFraction);
}
