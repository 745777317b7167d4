import { UsageError } from '../../core/errors.ts';
import type { silences } from '../../ledger/store/schema/alert-tables.ts';

/** When a silence or a plan counts between its beginning and its end, as it is stored; null: always. */
export type MuteTimes = Pick<typeof silences.$inferSelect, 'weekdays' | 'hours' | 'daysOfMonth' | 'timeZone'>;

export const ALWAYS: MuteTimes = { weekdays: null, hours: null, daysOfMonth: null, timeZone: null };

interface ParsedTimes {
  /** From 0, which is Monday. */
  weekdays: number[] | null;
  /** Minutes of the day: the first that counts, and the first that does not. */
  hours: [from: number, to: number] | null;
  /** `LAST`: the last one. */
  daysOfMonth: number[] | null;
}

const QUARTER_MS = 15 * 60_000;
const DAY_MS = 86_400_000;
const DAY_MINUTES = 1440;
/** Who mutes for longer without a break is asked again after this. */
const LONGEST_LOOK_MS = 35 * DAY_MS;
const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
const LAST = 0;
const MONTH_DAYS = ['last', ...Array.from({ length: 31 }, (_, index) => String(index + 1))];

/** Throws `usage` for what cannot be understood. */
export function checkTimes(times: MuteTimes): void {
  parseTimes(times);
  try {
    localMs(0, times.timeZone);
  } catch {
    throw new UsageError(`--time-zone ${JSON.stringify(times.timeZone)} is not known`, 'write it as Europe/Berlin');
  }
}

export function countsAt(times: MuteTimes, atMs: number): boolean {
  return counts(parseTimes(times), localMs(atMs, times.timeZone));
}

/**
 * Until when it counts from now on, to a quarter of an hour, or a moment before at which to look again; `endMs` at the latest.
 * Null: it does not count now.
 */
export function countsUntilMs(times: MuteTimes, nowMs: number, endMs: number): number | null {
  const parsed = parseTimes(times);
  if (!counts(parsed, localMs(nowMs, times.timeZone))) return null;
  if (Object.values(parsed).every((part) => part === null)) return endMs;
  const latestMs = Math.min(endMs, nowMs + LONGEST_LOOK_MS);
  let untilMs = nowMs;
  do untilMs = (Math.floor(untilMs / QUARTER_MS) + 1) * QUARTER_MS;
  while (untilMs < latestMs && counts(parsed, localMs(untilMs, times.timeZone)));
  return Math.min(untilMs, latestMs);
}

/** ` on sat,sun, 22:00-06:00 (Europe/Berlin)`; nothing of what counts always. */
export function timesWords({ weekdays, hours, daysOfMonth, timeZone }: MuteTimes): string {
  const days = [weekdays, daysOfMonth === null ? null : `days ${daysOfMonth}`, hours].filter((part) => part !== null);
  return days.length === 0 ? '' : ` on ${days.join(', ')} (${timeZone ?? 'UTC'})`;
}

function counts({ weekdays, hours, daysOfMonth }: ParsedTimes, atMs: number): boolean {
  const minute = Math.floor((atMs % DAY_MS) / 60_000);
  let day = new Date(atMs);
  if (hours !== null) {
    const [from, to] = hours;
    const isOverMidnight = from >= to;
    if (isOverMidnight ? minute >= to && minute < from : minute < from || minute >= to) return false;
    // Such a night belongs to the day on which it begins.
    if (isOverMidnight && minute < to) day = new Date(atMs - DAY_MS);
  }
  if (weekdays?.includes((day.getUTCDay() + 6) % 7) === false) return false;
  const isLast = new Date(day.getTime() + DAY_MS).getUTCDate() === 1;
  return daysOfMonth === null || daysOfMonth.includes(day.getUTCDate()) || (isLast && daysOfMonth.includes(LAST));
}

const clocks = new Map<string, Intl.DateTimeFormat>();

/** What the clocks of a place show, as if they showed UTC. */
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

function parseTimes({ weekdays, hours, daysOfMonth }: MuteTimes): ParsedTimes {
  return {
    weekdays: weekdays === null ? null : parseList('--weekdays', weekdays, WEEKDAYS),
    hours: hours === null ? null : parseHours(hours),
    daysOfMonth: daysOfMonth === null ? null : parseList('--days-of-month', daysOfMonth, MONTH_DAYS),
  };
}

/** The places of names in a list of all of them; `mon-fri` is all from one to another. */
function parseList(option: string, text: string, names: readonly string[]): number[] {
  return text.split(',').flatMap((item) => {
    const [from = -1, to = from, ...more] = item.split('-').map((name) => names.indexOf(name.trim().toLowerCase()));
    if (from < 0 || to < from || more.length > 0) {
      const example = `${names[1]}-${names[3]},${names.at(-1)}`;
      throw new UsageError(`${option} ${JSON.stringify(text)} cannot be understood`, `write it as ${example}`);
    }
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}

function parseHours(text: string): [number, number] {
  const [, fromHour, fromMinute, toHour, toMinute] =
    /^([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-4]):([0-5]\d)$/.exec(text) ?? [];
  const [from, to] = [Number(fromHour) * 60 + Number(fromMinute), Number(toHour) * 60 + Number(toMinute)];
  if (Number.isNaN(to) || to > DAY_MINUTES) {
    throw new UsageError(`--hours ${JSON.stringify(text)} cannot be understood`, 'write them as 22:00-06:00');
  }
  return [from, to];
}
