import { DAY_MS } from '../../core/durations.ts';
import { periodEndMs, periodStartMs } from '../../core/period.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { extrapolateToMonth } from '../figures/threshold.ts';
import type { UsageHistory } from './usage-history.ts';

/** The usual rate is computed from at least this many days of readings. */
const MIN_READING_DAYS = 14;
const LATEST_MEDIAN_DAYS = 5;

/** Usage of a tenant in its first weeks of readings. */
export interface FirstWeeks {
  /** The credits of a whole month at the mean rate of these weeks. */
  whole: bigint;
  days: number;
  /** Credits a day, rounded. */
  daily: bigint;
  /**
   * The credits of a whole month at the median rate of the latest five days. The comparison with `whole` shows whether
   * a busy start of the month lasts.
   */
  latest: bigint;
}

/**
 * Reads a tenant's usage from the workspace's first reading to the end of the previous month, but for at least two
 * weeks. Null if these days are not over, or if the tenant was active on less than half of them.
 */
export function firstWeeks(
  usageHistory: UsageHistory,
  { periodKey, tenantKey, nowMs }: { periodKey: number; tenantKey: number; nowMs: number },
): FirstWeeks | null {
  const fromMs = usageHistory.firstRunMs();
  if (fromMs === null) return null;
  const period = periodOfKey(periodKey - 1);
  const toMs = Math.max(periodEndMs(period), fromMs + MIN_READING_DAYS * DAY_MS);
  if (toMs > nowMs) return null;
  const days = Math.floor((toMs - fromMs) / DAY_MS);
  const readings = Array.from({ length: days + 1 }, (_, day) =>
    usageHistory.sinceStart(periodKey, tenantKey, fromMs + day * DAY_MS),
  );
  const [first = null, last = null] = [readings[0], readings.at(-1)];
  if (first === null || last === null || last <= first) return null;
  const used = readings.filter(
    (reached, day) => day > 0 && reached !== null && reached > (readings[day - 1] ?? reached),
  );
  if (used.length * 2 < days) return null;
  const lengthMs = periodEndMs(period) - periodStartMs(period);
  const latest = latestDay(periodKey, usageHistory, { tenantKey, nowMs });
  if (latest === null) return null;
  const whole = extrapolateToMonth(last - first, days * DAY_MS, lengthMs);
  return { whole, days, daily: (last - first) / BigInt(days), latest: extrapolateToMonth(latest, DAY_MS, lengthMs) };
}

function latestDay(
  periodKey: number,
  usageHistory: UsageHistory,
  { tenantKey, nowMs }: { tenantKey: number; nowMs: number },
): bigint | null {
  const used: bigint[] = [];
  for (let day = 0; day < LATEST_MEDIAN_DAYS; day += 1) {
    const [from, to] = [day + 1, day].map((ago) => usageHistory.sinceStart(periodKey, tenantKey, nowMs - ago * DAY_MS));
    if (from === null || to === null || from === undefined || to === undefined) return null;
    used.push(to - from);
  }
  return used.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))[Math.floor(LATEST_MEDIAN_DAYS / 2)] ?? null;
}
