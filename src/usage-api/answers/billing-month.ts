import { parseDateTime } from '../../core/date-time.ts';
import { isPeriod, periodBounds } from '../../core/period.ts';

/**
 * The start or end of a period may differ this much from the month in UTC. Time zones and inclusive ends shift it by
 * less, another billing cycle by more.
 */
const MAX_BOUND_OFFSET_MS = 86_400_000;
/** `lastBounds` is cleared at this size, so that a service that invents dates cannot fill the memory. */
const MAX_REMEMBERED_PERIODS = 4096;
/** The last valid start and end of each period. Most records repeat them, which is cheaper than parsing dates. */
const lastBounds = new Map<string, { start: string; end: string }>();

/** Reports whether `period` is a month, and `start` and `end` are at most a day from the bounds of that month in UTC. */
export function isBillingMonth(period: unknown, start: unknown, end: unknown): boolean {
  if (typeof period !== 'string' || typeof start !== 'string' || typeof end !== 'string') return false;
  const bounds = lastBounds.get(period);
  if (bounds !== undefined && bounds.start === start && bounds.end === end) return true;
  if (!isPeriod(period) || parseDateTime(start) === null || parseDateTime(end) === null) return false;
  if (findStrayBound(period, start, end) !== null) return false;
  if (lastBounds.size >= MAX_REMEMBERED_PERIODS) lastBounds.clear();
  lastBounds.set(period, { start, end });
  return true;
}

/** Returns the first bound that is more than a day from that of the month in UTC, and the expected value; or null. */
export function findStrayBound(
  period: string,
  start: string,
  end: string,
): { field: 'period_start' | 'period_end'; expected: string } | null {
  const month = periodBounds(period);
  if (isOffByMoreThanADay(start, month.start)) return { field: 'period_start', expected: month.start };
  return isOffByMoreThanADay(end, month.end) ? { field: 'period_end', expected: month.end } : null;
}

function isOffByMoreThanADay(text: string, expected: string): boolean {
  return Math.abs((parseDateTime(text) ?? Number.NaN) - Date.parse(expected)) > MAX_BOUND_OFFSET_MS;
}
