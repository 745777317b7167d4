import { DAY_MS } from './durations.ts';
import { InputError } from './errors.ts';
import { isTimeZone, UTC, wallClockMs } from './time-zone.ts';

/** Recurring times by the clock of a zone, as people write them. A part that is null does not restrict them. */
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
  /** 0 is Monday. */
  weekdays: number[] | null;
  /** Start (included) and end (excluded), in minutes of the day. */
  hours: [from: number, to: number] | null;
  /** `LAST` is the last day. */
  daysOfMonth: number[] | null;
}

const QUARTER_MS = 15 * 60_000;
const DAY_MINUTES = 1440;
/** The end of a longer unbroken interval is computed again after this time. */
const MAX_SEARCH_MS = 35 * DAY_MS;
const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
const LAST = 0;
const MONTH_DAYS = ['last', ...Array.from({ length: 31 }, (_, index) => String(index + 1))];

/** Throws InputError if the times are invalid. */
export function checkIntervals(times: TimeIntervals): void {
  parseTimes(times);
  if (times.timeZone !== null && !isTimeZone(times.timeZone)) {
    throw new InputError(
      (nameOf) => `${nameOf('time_zone')} ${JSON.stringify(times.timeZone)} is not known`,
      'write it as Europe/Berlin',
    );
  }
}

/** Reports whether the times include a moment. */
export function isActiveAt(times: TimeIntervals, atMs: number): boolean {
  return isInside(parseTimes(times), localMs(atMs, times.timeZone));
}

/**
 * Returns until when an active interval lasts, to a quarter of an hour and at most `endMs`, or an earlier moment at which to compute
 * it again. Null: it is not active now.
 */
export function activeUntilMs(times: TimeIntervals, nowMs: number, endMs: number): number | null {
  const parsed = parseTimes(times);
  if (!isInside(parsed, localMs(nowMs, times.timeZone))) return null;
  if (Object.values(parsed).every((part) => part === null)) return endMs;
  const latestMs = Math.min(endMs, nowMs + MAX_SEARCH_MS);
  return Math.min(latestMs, changeMs(parsed, times.timeZone, nowMs, latestMs));
}

/**
 * Returns the start of the next interval, to a quarter of an hour; `nowMs` inside an interval. Without one in the next
 * 35 days it returns the end of that search.
 */
export function nextActiveMs(times: TimeIntervals, nowMs: number): number {
  const parsed = parseTimes(times);
  if (isInside(parsed, localMs(nowMs, times.timeZone))) return nowMs;
  return changeMs(parsed, times.timeZone, nowMs, nowMs + MAX_SEARCH_MS);
}

/** Returns the next quarter of an hour at which the times begin or end, at the latest the first one after `latestMs`. */
function changeMs(parsed: ParsedIntervals, timeZone: string | null, nowMs: number, latestMs: number): number {
  const isInsideNow = isInside(parsed, localMs(nowMs, timeZone));
  let atMs = nowMs;
  do atMs = (Math.floor(atMs / QUARTER_MS) + 1) * QUARTER_MS;
  while (atMs < latestMs && isInside(parsed, localMs(atMs, timeZone)) === isInsideNow);
  return atMs;
}

/** Formats the times as ` on sat,sun, 22:00-06:00 (Europe/Berlin)`; empty if they are always active. */
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
    // A night belongs to the day on which it begins.
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

/** Returns the positions of names in a list; `mon-fri` stands for a range. */
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
