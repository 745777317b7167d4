import { Cron, CronPattern } from 'croner';
import { UTC } from './time-zone.ts';

/** A recurring schedule: a five-field cron expression by the clock of an IANA time zone. */
export interface CronSchedule {
  cron: string;
  timezone: string;
}

/** Returns a text that identifies the schedule, to be used as a cache key. Equal schedules have equal texts. */
export function scheduleText({ cron, timezone }: CronSchedule): string {
  return `${cron} ${timezone}`;
}

/** Options of croner. `sloppyRanges` makes it accept `5/20`, which means `5-59/20`. */
const OPTIONS = { sloppyRanges: true, paused: true } as const;

/**
 * Parses a schedule. Throws if the expression is invalid. When clocks change for daylight saving time, a schedule for
 * certain hours still runs once for each of its times: a time that the clock skips runs at the end of the skipped hour,
 * and a time that occurs twice runs at its first occurrence. A schedule for every hour runs whenever the clock shows a
 * matching time, so its intervals stay equal.
 */
function parseSchedule({ cron, timezone }: CronSchedule): Cron {
  if (timezone === UTC) return new Cron(cron, { ...OPTIONS, utcOffset: 0 });
  return new Cron(withoutSteps(cron), { ...OPTIONS, timezone, fixedTimeRule: 'no-wildcard' });
}

/**
 * Rewrites the minutes and hours as lists: step 20 becomes `0,20,40`. Without this, croner would treat an expression
 * with a wildcard or step as an interval: when clocks change, it would skip the times in a skipped hour and run twice
 * in a repeated hour. The hours become a wildcard only if every hour matches.
 */
function withoutSteps(cron: string): string {
  const { minute, hour } = new CronPattern(cron, undefined, OPTIONS);
  const days = cron.trim().split(/\s+/).slice(2);
  const hours = hour.every((matches) => matches === 1) ? '*' : listMatches(hour);
  return [listMatches(minute), hours, ...days].join(' ');
}

function listMatches(matches: readonly number[]): string {
  return matches.flatMap((match, value) => (match === 1 ? [value] : [])).join(',');
}

/** Yields the times of a schedule after `afterMs`, in milliseconds since the epoch. */
export function* timesAfter(schedule: CronSchedule, afterMs: number): Generator<number, undefined> {
  const parsed = parseSchedule(schedule);
  for (let time = parsed.nextRun(new Date(afterMs)); time !== null; time = parsed.nextRun(time)) yield time.getTime();
}

/** Returns the latest time of a schedule at or before `nowMs`, or null if there is none. */
export function latestTime(schedule: CronSchedule, nowMs: number): number | null {
  // `previousRuns` returns only slots before the given second. Starting one second later includes a slot at `nowMs`.
  const [latest] = parseSchedule(schedule).previousRuns(1, new Date((Math.floor(nowMs / 1000) + 1) * 1000));
  return latest?.getTime() ?? null;
}

/**
 * Returns the first time of a schedule after `nowMs`, in milliseconds since the epoch. Returns infinity if there is
 * none.
 */
export function nextSlot(schedule: CronSchedule, nowMs: number): number {
  return timesAfter(schedule, nowMs).next().value ?? Number.POSITIVE_INFINITY;
}

/** A scheduled time and the one after it, in milliseconds since the epoch. */
export interface SlotSpan {
  slotMs: number;
  nextMs: number;
}

/**
 * Returns a function that finds the latest scheduled time at or before a given time, or null if there is none. It keeps
 * its result until the next scheduled time, because parsing a cron expression is slow.
 */
export function createSlotFinder(schedule: CronSchedule): (nowMs: number) => SlotSpan | null {
  let cached: SlotSpan | null = null;
  return (nowMs) => {
    if (cached !== null && nowMs >= cached.slotMs && nowMs < cached.nextMs) return cached;
    const slotMs = latestTime(schedule, nowMs);
    if (slotMs === null) return null;
    cached = { slotMs, nextMs: nextSlot(schedule, slotMs) };
    return cached;
  };
}
