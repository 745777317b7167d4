import type { AlertRuleSettings } from '../../config/types.ts';
import { DAY_MS } from '../../core/durations.ts';
import { addPeriods, type Period } from '../../core/period.ts';
import { multiplyRoundingUp, toFraction } from './fraction.ts';

/** A function that returns a subject's credits this many months before; null without a figure to compare with. */
export type PastCreditsReader = (monthsBefore: number) => bigint | null;

export interface Threshold {
  /** A period with at least this many credits is a jump. */
  credits: bigint;
  baseline: bigint;
  period: Period;
  ratio: number;
  minCredits: number;
}

/** The settings that define a jump: at least `ratio` times the baseline, and at least `minCredits` above it. */
export type JumpSize = Pick<AlertRuleSettings, 'ratio' | 'minCredits'>;

/**
 * Returns `max(ratio * baseline, baseline + minCredits)`, rounded up to a whole credit and exact at any size. Throws
 * `bad_threshold` for numbers that are not finite or are below zero.
 */
export function jumpThreshold(baseline: bigint, size: JumpSize): bigint {
  const byRatio = multiplyRoundingUp(toFraction(size.ratio, 'alerts.ratio'), baseline);
  const byFloor = baseline + roundUpMinCredits(size);
  return byRatio > byFloor ? byRatio : byFloor;
}

/** Returns `min_credits`, rounded up to a whole credit. */
export function roundUpMinCredits({ minCredits }: { minCredits: number }): bigint {
  return multiplyRoundingUp(toFraction(minCredits, 'alerts.min_credits'), 1n);
}

/**
 * Returns the credits from which a period is a jump; null without a positive baseline. The baseline is the month that
 * the settings name. If that is the same month of last year and it has no usage, the previous month is the baseline,
 * so that new tenants are checked too.
 */
export function findJumpThreshold(
  period: Period,
  history: PastCreditsReader,
  settings: AlertRuleSettings,
): Threshold | null {
  const { ratio, minCredits } = settings;
  const before = settings.baseline === 'same_month_last_year' && (history(12) ?? 0n) > 0n ? 12 : 1;
  const baseline = history(before) ?? 0n;
  if (baseline <= 0n) return null;
  return {
    credits: jumpThreshold(baseline, settings),
    baseline,
    period: addPeriods(period, -before),
    ratio,
    minCredits,
  };
}

/**
 * Extrapolates the credits of a month with `activeMs` of usage to the whole month, rounded up. Less than a day counts
 * as one day.
 */
export function extrapolateToMonth(credits: bigint, activeMs: number, lengthMs: number): bigint {
  const active = BigInt(Math.min(lengthMs, Math.max(DAY_MS, Math.round(activeMs))));
  return (credits * BigInt(lengthMs) + active - 1n) / active;
}
