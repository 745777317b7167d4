import type { AlertRuleSettings } from '../../config/types.ts';
import { addPeriods, type Period, periodEndMs, periodStartMs } from '../../core/period.ts';
import { ceilProduct, decimalFraction } from './fraction.ts';

const DAY_MS = 86_400_000;

/** The credits of the period that lies this many months before; null where there is none to compare with. */
export type CreditHistory = (monthsBefore: number) => bigint | null;

/** A threshold and how it was built, for the evidence. */
export interface Threshold {
  /** Credits from which on a period is a jump. */
  credits: bigint;
  /** What the period is compared with: credits, brought to the length of the period when `perDay`. */
  baseline: bigint;
  /** The periods that the baseline was taken from. */
  periods: Period[];
  ratio: number;
  minCredits: number;
  /** Credits more that are a jump whatever the ratio; null: none. */
  minIncrease: number | null;
  perDay: boolean;
}

/** What a jump is: at least `ratio` times the baseline and `minCredits` more than it, or `minIncrease` more than it. */
export type JumpSize = Pick<AlertRuleSettings, 'ratio' | 'minCredits'> & { minIncrease?: number | null };

/**
 * `min(max(ratio * baseline, baseline + minCredits), baseline + minIncrease)`, rounded up to a whole credit and exact at
 * any size. Raises `bad_threshold` for numbers that are not finite or are below zero.
 */
export function jumpThreshold(baseline: bigint, size: JumpSize): bigint {
  const byRatio = ceilProduct(decimalFraction(size.ratio, 'alerts.ratio'), baseline);
  const byFloor = baseline + floorCredits(size);
  const relative = byRatio > byFloor ? byRatio : byFloor;
  if (size.minIncrease === undefined || size.minIncrease === null) return relative;
  const byAmount = baseline + ceilProduct(decimalFraction(size.minIncrease, 'alerts.min_increase'), 1n);
  return byAmount < relative ? byAmount : relative;
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
  const { ratio, minCredits, minIncrease, perDay } = settings;
  const months = baselineMonths(history, settings.baseline);
  const scaled = months.map((before) => scale(history(before) ?? 0n, period, addPeriods(period, -before), perDay));
  const baseline = median(scaled);
  if (baseline <= 0n) return null;
  const periods = months.map((before) => addPeriods(period, -before));
  return { credits: jumpThreshold(baseline, settings), baseline, periods, ratio, minCredits, minIncrease, perDay };
}

function baselineMonths(history: CreditHistory, baseline: AlertRuleSettings['baseline']): number[] {
  if (baseline === 'same_month_last_year' && (history(12) ?? 0n) > 0n) return [12];
  if (typeof baseline === 'object') {
    return Array.from({ length: baseline.medianOf }, (_, index) => index + 1).filter((n) => (history(n) ?? 0n) > 0n);
  }
  return [1];
}

/** What a first period would have come to had it been used from its beginning on, rounded up: at least a day counts. */
export function wholeMonth(credits: bigint, activeMs: number, lengthMs: number): bigint {
  const active = BigInt(Math.min(lengthMs, Math.max(DAY_MS, Math.round(activeMs))));
  return (credits * BigInt(lengthMs) + active - 1n) / active;
}

/** Credits per day of the one period times the days of the other, rounded up. */
export function scale(credits: bigint, to: Period, from: Period, perDay: boolean): bigint {
  return perDay ? ceilProduct({ numerator: daysOf(to), denominator: daysOf(from) }, credits) : credits;
}

function daysOf(period: Period): bigint {
  return BigInt((periodEndMs(period) - periodStartMs(period)) / DAY_MS);
}

/** Of an even number, the mean of the two in the middle, rounded up; of none, zero. */
function median(values: readonly bigint[]): bigint {
  const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const high = sorted[Math.floor(sorted.length / 2)] ?? 0n;
  const low = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0n;
  return (low + high + 1n) / 2n;
}
