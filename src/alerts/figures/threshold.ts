import type { AlertRuleSettings } from '../../config/types.ts';
import { DAY_MS } from '../../core/durations.ts';
import { addPeriods, type Period } from '../../core/period.ts';
import { ceilProduct, decimalFraction } from './fraction.ts';

/** Returns the credits of the period this many months before; null without a figure to compare with. */
export type CreditHistory = (monthsBefore: number) => bigint | null;

export interface Threshold {
  /** A period with at least this many credits is a jump. */
  credits: bigint;
  baseline: bigint;
  period: Period;
  ratio: number;
  minCredits: number;
}

/** Size of a jump: at least `ratio` times the baseline, and at least `minCredits` above it. */
export type JumpSize = Pick<AlertRuleSettings, 'ratio' | 'minCredits'>;

/**
 * Returns `max(ratio * baseline, baseline + minCredits)`, rounded up to a whole credit and exact at any size. Throws
 * `bad_threshold` for numbers that are not finite or are below zero.
 */
export function jumpThreshold(baseline: bigint, size: JumpSize): bigint {
  const byRatio = ceilProduct(decimalFraction(size.ratio, 'alerts.ratio'), baseline);
  const byFloor = baseline + floorCredits(size);
  return byRatio > byFloor ? byRatio : byFloor;
}

/** Returns `min_credits`, rounded up to a whole credit. */
export function floorCredits({ minCredits }: { minCredits: number }): bigint {
  return ceilProduct(decimalFraction(minCredits, 'alerts.min_credits'), 1n);
}

/**
 * Builds the threshold of a period from its settings; null without a positive baseline. If the same month of last
 * year has no usage, the previous month is used, so that new tenants are watched as well.
 */
export function buildThreshold(period: Period, history: CreditHistory, settings: AlertRuleSettings): Threshold | null {
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

/** Extrapolates the credits of a first period to a whole month, rounded up. At least one day counts as active. */
export function wholeMonth(credits: bigint, activeMs: number, lengthMs: number): bigint {
  const active = BigInt(Math.min(lengthMs, Math.max(DAY_MS, Math.round(activeMs))));
  return (credits * BigInt(lengthMs) + active - 1n) / active;
}
