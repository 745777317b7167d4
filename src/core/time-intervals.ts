import { DAY_MS } from './durations.ts';
import { InputError } from './errors.ts';
import { isTimeZone, UTC, wallClockMs } from './time-zone.ts';

/**
 * Recurring times by the clock of a time zone, in the notation that people write. Null in `weekdays`, `hours` or
 * `daysOfMonth` means that this part sets no limit.
 */
export interface TimeIntervals {
  /** Days of the week, such as `mon-fri,sun`. */
  weekdays: string | null;
  /** Hours of the day, such as `22:00-06:00`. */
  hours: string | null;
  /** Days of the month, such as `1-3,last`. */
  daysOfMonth: string | null;
  /** The IANA name of the time zone; null: UTC. */
  timeZone: string | null;
}

export const ALWAYS: TimeIntervals = { weekdays: null, hours: null, daysOfMonth: null, timeZone: null };

interface ParsedIntervals {
  /** Days of the week: 0 is Monday, 6 is Sunday. */
  weekdays: number[] | null;
  /** Start (included) and end (excluded), in minutes since midnight. */
  hours: [from: number, to: number] | null;
  /** Days of the month: 1 to 31, or `LAST` for the last day. */
  daysOfMonth: number[] | null;
}

const QUARTER_MS = 15 * 60_000;
const DAY_MINUTES = 1440;
/** The search for the next start or end of an interval stops after this time; the caller then searches again. */
const MAX_SEARCH_MS = 35 * DAY_MS;
const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
const LAST = 0;
const MONTH_DAYS = ['last', ...Array.from({ length: 31 }, (_, index) => String(index + 1))];

/** Throws InputError if a weekday, day of the month, time of day or time zone is invalid. */
export function checkIntervals(times: TimeIntervals): void {
  parseTimes(times);
  if (times.timeZone !== null && !isTimeZone(times.timeZone)) {
    throw new InputError(
      (nameOf) => `${nameOf('time_zone')} ${JSON.stringify(times.timeZone)} is not known`,
      'write it as Europe/Berlin',
    );
  }
}

/** Reports whether a moment is within the recurring times. */
export function isActiveAt(times: TimeIntervals, atMs: number): boolean {
  return isInside(parseTimes(times), localMs(atMs, times.timeZone));
}

/**
 * Returns when the active interval ends, rounded up to a full quarter of an hour and at most `endMs`; null if no
 * interval is active at `nowMs`. If the end is more than 35 days away, returns an earlier time, at which the caller
 * must ask again.
 */
export function activeUntilMs(times: TimeIntervals, nowMs: number, endMs: number): number | null {
  const parsed = parseTimes(times);
  if (!isInside(parsed, localMs(nowMs, times.timeZone))) return null;
  if (Object.values(parsed).every((part) => part === null)) return endMs;
  const latestMs = Math.min(endMs, nowMs + MAX_SEARCH_MS);
  return Math.min(latestMs, changeMs(parsed, times.timeZone, nowMs, latestMs));
}

/**
 * Returns when the next interval starts, rounded up to a full quarter of an hour, or `nowMs` if an interval is active.
 * If none starts within 35 days, returns the end of these 35 days, at which the caller must ask again.
 */
export function nextActiveMs(times: TimeIntervals, nowMs: number): number {
  const parsed = parseTimes(times);
  if (isInside(parsed, localMs(nowMs, times.timeZone))) return nowMs;
  return changeMs(parsed, times.timeZone, nowMs, nowMs + MAX_SEARCH_MS);
}

/**
 * Returns the first full quarter of an hour after `nowMs` at which an interval has begun or ended, at the latest the
 * first one after `latestMs`.
 */
function changeMs(parsed: ParsedIntervals, timeZone: string | null, nowMs: number, latestMs: number): number {
  const isInsideNow = isInside(parsed, localMs(nowMs, timeZone));
  let atMs = nowMs;
  do atMs = (Math.floor(atMs / QUARTER_MS) + 1) * QUARTER_MS;
  while (atMs < latestMs && isInside(parsed, localMs(atMs, timeZone)) === isInsideNow);
  return atMs;
}

/**
 * Formats the times as ` on sat,sun, 22:00-06:00 (Europe/Berlin)`. Returns an empty text if the times have no limits.
 */
export function formatIntervals({ weekdays, hours, daysOfMonth, timeZone }: TimeIntervals): string {
  const days = [weekdays, daysOfMonth === null ? null : `days ${daysOfMonth}`, hours].filter((part) => part !== null);
  return days.length === 0 ? '' : ` on ${days.join(', ')} (${timeZone ?? 'UTC'})`;
}

function isInside({ weekdays, hours, daysOfMonth }: ParsedIntervals, atMs: number): boolean {
  const minute = Math.floor((atMs % DAY_MS) / 60_000);
  let day = new Date(atMs);
  if (hours !== null) {
    const [from, to] = hours;
    const isOverMidnight = from >= to;
    if (isOverMidnight ? minute >= to && minute < from : minute < from || minute >= to) return false;
    // In an interval over midnight, a time after midnight belongs to the day on which the interval began.
    if (isOverMidnight && minute < to) day = new Date(atMs - DAY_MS);
  }
  if (weekdays?.includes((day.getUTCDay() + 6) % 7) === false) return false;
  const isLast = new Date(day.getTime() + DAY_MS).getUTCDate() === 1;
  return daysOfMonth === null || daysOfMonth.includes(day.getUTCDate()) || (isLast && daysOfMonth.includes(LAST));
}

function localMs(atMs: number, timeZone: string | null): number {
  return wallClockMs(atMs, timeZone ?? UTC);
}

function parseTimes({ weekdays, hours, daysOfMonth }: TimeIntervals): ParsedIntervals {
  return {
    weekdays: weekdays === null ? null : parseList('weekdays', weekdays, WEEKDAYS),
    hours: hours === null ? null : parseHours(hours),
    daysOfMonth: daysOfMonth === null ? null : parseList('days_of_month', daysOfMonth, MONTH_DAYS),
  };
}

/** Parses a list such as `mon-fri,sun` into indexes in `names`. */
function parseList(field: string, text: string, names: readonly string[]): number[] {
  return text.split(',').flatMap((item) => {
    const [from = -1, to = from, ...more] = item.split('-').map((name) => names.indexOf(name.trim().toLowerCase()));
    if (from < 0 || to < from || more.length > 0) {
      const example = `${names[1]}-${names[3]},${names.at(-1)}`;
      throw new InputError(
        (nameOf) => `${nameOf(field)} ${JSON.stringify(text)} cannot be understood`,
        `write it as ${example}`,
      );
    }
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}

function parseHours(text: string): [number, number] {
  const [, fromHour, fromMinute, toHour, toMinute] =
    /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)$/.exec(text) ?? [];
  const [from, to] = [Number(fromHour) * 60 + Number(fromMinute), Number(toHour) * 60 + Number(toMinute)];
  if (Number.isNaN(to) || to > DAY_MINUTES) {
    throw new InputError(
      (nameOf) => `${nameOf('hours')} ${JSON.stringify(text)} cannot be understood`,
      'write them as 22:00-06:00',
    );
  }
  return [from, to];
}
