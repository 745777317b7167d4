import type { Level } from '../../../core/text/alert-words.ts';
import type { PeriodPhase } from '../../figures/period-phase.ts';
import { headingOf, type Outlook } from '../../forecast/forecast.ts';
import { PACE_CONFIRM_MS, paceIsTelling } from '../../forecast/pace.ts';
import { clear, holds, type Judgement, type PreviousPeriod, UNDECIDED, WAVERING } from '../judgement.ts';

export interface JumpInput {
  current: bigint;
  previous: PreviousPeriod;
  /** Credits from which on it is a jump, see `buildThreshold`; null when there is nothing to compare with. */
  threshold: { credits: bigint; baseline: bigint } | null;
  phase: PeriodPhase;
  /** The level of the alert that fires already; null when none does. */
  firing: Level | null;
  /** Of an open period, nothing is foretold before this fraction of it has passed. */
  paceMinFraction: number;
  /** What an open period comes to; asked only when nothing else decides. Null: there is no past to compare with. */
  outlook: (() => Outlook | null) | null;
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
  // A loss is no growth, whatever the rest of the month brings.
  if (current < 0n) return clear(false);
  // Figures that were over their limit and are far below it leave no doubt; a forecast may be another by the next run.
  const over = clear(input.firing === 'happened' && current * 10n < limit * 9n);
  if (phase.over) return current * 10n < limit * 9n || current <= baseline ? over : UNDECIDED;
  if (input.outlook === null || !paceIsTelling(phase, input.paceMinFraction)) {
    return input.firing === null ? clear(false) : UNDECIDED;
  }
  const outlook = input.outlook();
  const likely = outlook?.likely ?? null;
  if (likely !== null && likely <= baseline) return over;
  const heading = headingOf(outlook, limit);
  if (heading === 'ahead') {
    return holds({
      level: 'likely',
      severity: 'warning',
      threshold: limit,
      measure: likely,
      confirmAfterMs: PACE_CONFIRM_MS,
    });
  }
  if (heading === 'wavering') return { ...WAVERING, measure: likely };
  // Where nothing says where it heads, what is there decides.
  if (heading === 'unknown') return current * 10n < limit * 9n ? over : UNDECIDED;
  return heading === 'behind' ? over : { ...UNDECIDED, measure: likely };
}
