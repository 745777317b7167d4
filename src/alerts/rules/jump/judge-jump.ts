import type { Level } from '../../../core/text/alert-words.ts';
import type { PeriodPhase } from '../../figures/period-phase.ts';
import { trendOf, type UsageForecast } from '../../forecast/forecast.ts';
import { canJudgePace, PACE_CONFIRMATION_MS } from '../../forecast/pace.ts';
import { clear, holds, INCONCLUSIVE, type Judgement, type PreviousPeriod, UNDECIDED } from '../judgement.ts';

export interface JumpInput {
  current: bigint;
  previous: PreviousPeriod;
  /** The limit and its baseline, see `findJumpThreshold`; null if there is nothing to compare with. */
  threshold: { credits: bigint; baseline: bigint } | null;
  phase: PeriodPhase;
  /** The level of the alert if the alert already fires; null otherwise. */
  firing: Level | null;
  /** Fraction of an open period that must pass before it is forecast. */
  paceMinFraction: number;
  /** Forecast of an open period, computed only if nothing else decides. Null: no history to compare with. */
  monthForecast: (() => UsageForecast | null) | null;
}

/**
 * Judges a jump in three levels: `likely` while an open period will probably reach the threshold, `happened` once its
 * credits have reached it, `settled` once the period has settled. Without a compared figure, there is no jump.
 */
export function judgeJump(input: JumpInput): Judgement {
  const { current, previous, threshold, phase } = input;
  // If an alert fires without a figure to compare with, the compared record was withdrawn, so the cause is gone.
  if (threshold === null || previous.figures === null || previous.figures.credits <= 0n) return clear(phase.settled);
  if (!previous.usable) return clear(phase.settled);
  const { credits: limit, baseline } = threshold;
  // With a ratio of 1 or less and no floor, the limit is at or below the baseline, but only growth is a jump.
  if (current >= limit && current > baseline) {
    const level = phase.settled && phase.over ? 'settled' : 'happened';
    return holds({ level, severity: 'critical', threshold: limit, magnitude: current });
  }
  if (phase.settled && phase.over) {
    // A settled month below its limit is no jump, however close. But an alert about the settled month ends only if the
    // credits are clearly below the limit.
    return input.firing !== 'settled' || current * 10n < limit * 9n ? clear(true) : UNDECIDED;
  }
  // Negative credits are not growth, whatever the rest of the month brings.
  if (current < 0n) return clear(false);
  // If the limit was passed and the credits are now far below it, one run is enough to end the alert. An alert that
  // rests on a forecast ends after two runs, because the forecast may change again.
  const ended = clear(input.firing === 'happened' && current * 10n < limit * 9n);
  if (phase.over) return current * 10n < limit * 9n || current <= baseline ? ended : UNDECIDED;
  if (input.monthForecast === null || !canJudgePace(phase, input.paceMinFraction)) {
    return input.firing === null ? clear(false) : UNDECIDED;
  }
  const monthForecast = input.monthForecast();
  const likely = monthForecast?.likely ?? null;
  if (likely !== null && likely <= baseline) return ended;
  const trend = trendOf(monthForecast, limit);
  if (trend === 'ahead') {
    return holds({
      level: 'likely',
      severity: 'warning',
      threshold: limit,
      magnitude: likely,
      confirmAfterMs: PACE_CONFIRMATION_MS,
    });
  }
  if (trend === 'inconclusive') return { ...INCONCLUSIVE, magnitude: likely };
  // Without a forecast, the present figures decide.
  if (trend === 'unknown') return current * 10n < limit * 9n ? ended : UNDECIDED;
  return trend === 'behind' ? ended : { ...UNDECIDED, magnitude: likely };
}
