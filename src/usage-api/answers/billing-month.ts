import { parseDateTime } from '../../core/date-time.ts';
import { isPeriod, periodBounds } from '../../core/period.ts';

/** Zones and ways to write an end move a month's bounds by less; another billing cycle moves them by more. */
const SLACK_MS = 86_400_000;
/** Bound of the memory below: a service that makes up dates must not fill ours. */
const MAX_REMEMBERED = 4096;
/** Per period the bounds seen last, so that the usual record costs one look-up and two comparisons. */
const lastBounds = new Map<string, { start: string; end: string }>();

/** True for a month whose bounds are date-times of the calendar month in UTC, give or take a day. */
export function isBillingMonth(period: unknown, start: unknown, end: unknown): boolean {
  if (typeof period !== 'string' || typeof start !== 'string' || typeof end !== 'string') return false;
  const bounds = lastBounds.get(period);
  if (bounds !== undefined && bounds.start === start && bounds.end === end) return true;
  if (!isPeriod(period) || parseDateTime(start) === null || parseDateTime(end) === null) return false;
  if (strayBound(period, start, end) !== null) return false;
  if (lastBounds.size >= MAX_REMEMBERED) lastBounds.clear();
  lastBounds.set(period, { start, end });
  return true;
}

/** The bound that lies more than a day from that of the calendar month in UTC, and where it should lie. */
export function strayBound(
  period: string,
  start: string,
  end: string,
): { field: 'period_start' | 'period_end'; expected: string } | null {
  const month = periodBounds(period);
  if (isFar(start, month.start)) return { field: 'period_start', expected: month.start };
  return isFar(end, month.end) ? { field: 'period_end', expected: month.end } : null;
}

function isFar(text: string, expected: string): boolean {
  return Math.abs((parseDateTime(text) ?? Number.NaN) - Date.parse(expected)) > SLACK_MS;
}
