import type { Level } from '../../../core/text/alert-words.ts';
import type { PeriodPhase } from '../../figures/period-phase.ts';
import { trendOf, type UsageForecast } from '../../forecast/forecast.ts';
import { canJudgePace, PACE_CONFIRMATION_MS } from '../../forecast/pace.ts';
import { clear, holds, INCONCLUSIVE, type Judgement, type PreviousPeriod, UNDECIDED } from '../judgement.ts';

export interface JumpInput {
  current: bigint;
  previous: PreviousPeriod;
  /** Credits from which on it is a jump, see `buildThreshold`; null when there is nothing to compare with. */
  threshold: { credits: bigint; baseline: bigint } | null;
  phase: PeriodPhase;
  /** The level of the alert that fires already; null when none does. */
  firing: Level | null;
  /** Fraction of an open period that must pass before it is forecast. */
  paceMinFraction: number;
  /** Forecast of an open period, computed only if nothing else decides. Null: no history to compare with. */
  monthForecast: (() => UsageForecast | null) | null;
}

/**
 * Judges a jump in three levels: `likely` while an open period heads for the threshold, `happened` once its credits are
 * over it, `settled` once the period has settled. Without a compared figure, there is no jump.
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
    return holds({ level, severity: 'critical', threshold: limit, magnitude: current });
  }
  if (phase.settled && phase.over) {
    // A settled month below its limit is no jump, however close; only a settled alert stays undecided.
    return input.firing !== 'settled' || current * 10n < limit * 9n ? clear(true) : UNDECIDED;
  }
  // A loss is no growth, whatever the rest of the month brings.
  if (current < 0n) return clear(false);
  // Figures that were over their limit and are far below it leave no doubt; a forecast may be another by the next run.
  const over = clear(input.firing === 'happened' && current * 10n < limit * 9n);
  if (phase.over) return current * 10n < limit * 9n || current <= baseline ? over : UNDECIDED;
  if (input.monthForecast === null || !canJudgePace(phase, input.paceMinFraction)) {
    return input.firing === null ? clear(false) : UNDECIDED;
  }
  const monthForecast = input.monthForecast();
  const likely = monthForecast?.likely ?? null;
  if (likely !== null && likely <= baseline) return over;
  const heading = trendOf(monthForecast, limit);
  if (heading === 'ahead') {
    return holds({
      level: 'likely',
      severity: 'warning',
      threshold: limit,
      magnitude: likely,
      confirmAfterMs: PACE_CONFIRMATION_MS,
    });
  }
  if (heading === 'inconclusive') return { ...INCONCLUSIVE, magnitude: likely };
  // Without a forecast, the present figures decide.
  if (heading === 'unknown') return current * 10n < limit * 9n ? over : UNDECIDED;
  return heading === 'behind' ? over : { ...UNDECIDED, magnitude: likely };
}
