import type { AlertRuleSettings } from '../../config/types.ts';
import { DAY_MS } from '../../core/durations.ts';
import { addPeriods, type Period } from '../../core/period.ts';
import { ceilProduct, decimalFraction } from './fraction.ts';

/** The credits of the period that lies this many months before; null where there is none to compare with. */
export type CreditHistory = (monthsBefore: number) => bigint | null;

export interface Threshold {
  /** Credits from which on a period is a jump. */
  credits: bigint;
  baseline: bigint;
  period: Period;
  ratio: number;
  minCredits: number;
}

/** Size of a jump: at least `ratio` times the baseline, and at least `minCredits` above it. */
export type JumpSize = Pick<AlertRuleSettings, 'ratio' | 'minCredits'>;

/**
 * `max(ratio * baseline, baseline + minCredits)`, rounded up to a whole credit and exact at any size. Raises
 * `bad_threshold` for numbers that are not finite or are below zero.
 */
export function jumpThreshold(baseline: bigint, size: JumpSize): bigint {
  const byRatio = ceilProduct(decimalFraction(size.ratio, 'alerts.ratio'), baseline);
  const byFloor = baseline + floorCredits(size);
  return byRatio > byFloor ? byRatio : byFloor;
}

/** The floor as whole credits. */
export function floorCredits({ minCredits }: { minCredits: number }): bigint {
  return ceilProduct(decimalFraction(minCredits, 'alerts.min_credits'), 1n);
}

/**
 * The threshold of a period by its settings, or null when there is nothing positive to compare with. A month of last
 * year that is not there falls back to the previous one, so that a young tenant is watched as well.
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
