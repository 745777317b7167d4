import { DAY_MS } from '../../core/durations.ts';
import { InputError } from '../../core/errors.ts';
import type { silences } from '../../ledger/store/schema/alert-tables.ts';

/** The recurring times at which a silence or plan is active, as stored; null: always. */
export type TimeIntervals = Pick<typeof silences.$inferSelect, 'weekdays' | 'hours' | 'daysOfMonth' | 'timeZone'>;

export const ALWAYS: TimeIntervals = { weekdays: null, hours: null, daysOfMonth: null, timeZone: null };

interface ParsedIntervals {
  /** 0 is Monday. */
  weekdays: number[] | null;
  /** Minutes of the day: first inside, first outside. */
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
  try {
    localMs(0, times.timeZone);
  } catch {
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
  let untilMs = nowMs;
  do untilMs = (Math.floor(untilMs / QUARTER_MS) + 1) * QUARTER_MS;
  while (untilMs < latestMs && isInside(parsed, localMs(untilMs, times.timeZone)));
  return Math.min(untilMs, latestMs);
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

const clocks = new Map<string, Intl.DateTimeFormat>();

/** Returns the local time of a zone as if it were UTC. */
function localMs(atMs: number, timeZone: string | null): number {
  if (timeZone === null) return atMs;
  const clock = clocks.get(timeZone) ?? new Intl.DateTimeFormat('en-US', { ...CLOCK, timeZone });
  clocks.set(timeZone, clock);
  const parts = Object.fromEntries(clock.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(parts.year ?? 0, (parts.month ?? 1) - 1, parts.day ?? 1, parts.hour ?? 0, parts.minute ?? 0);
}

const CLOCK = {
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
} as const;

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
