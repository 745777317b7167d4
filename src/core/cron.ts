import { Cron, CronPattern } from 'croner';
import { UTC } from './time-zone.ts';

/** A recurring schedule: a five-field cron expression by the clock of an IANA time zone. */
export interface CronSchedule {
  cron: string;
  timezone: string;
}

/** Returns a text that identifies the schedule, for use as a cache key. Equal schedules have equal texts. */
export function scheduleText({ cron, timezone }: CronSchedule): string {
  return `${cron} ${timezone}`;
}

/** `sloppyRanges` accepts `5/20`, which means `5-59/20`. */
const OPTIONS = { sloppyRanges: true, paused: true } as const;

/**
 * Parses a schedule; throws if the expression is invalid. When daylight saving time begins or ends, a schedule for
 * certain hours runs once for each of its times: a skipped time at the end of the skipped hour, a repeated time at its
 * first occurrence. A schedule for every hour runs at each matching time that the clock shows, so its intervals keep
 * their length.
 */
function parseSchedule({ cron, timezone }: CronSchedule): Cron {
  if (timezone === UTC) return new Cron(cron, { ...OPTIONS, utcOffset: 0 });
  return new Cron(withoutSteps(cron), { ...OPTIONS, timezone, fixedTimeRule: 'no-wildcard' });
}

/**
 * Rewrites the steps of minutes and hours as lists: step 20 becomes `0,20,40`. croner treats an expression with a wildcard
 * or step as an interval: when clocks change, it would skip the times in a skipped hour and run twice in a repeated hour.
 * Hours become a wildcard only if they match every hour.
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
  // `previousRuns` excludes the time that it is given, and a match lasts a whole second. Starting at the next second
  // includes a match at `nowMs`.
  const [latest] = parseSchedule(schedule).previousRuns(1, new Date((Math.floor(nowMs / 1000) + 1) * 1000));
  return latest?.getTime() ?? null;
}

/** Returns the first time of a schedule after `nowMs`, in milliseconds since the epoch; infinite if there is none. */
export function nextSlot(schedule: CronSchedule, nowMs: number): number {
  return timesAfter(schedule, nowMs).next().value ?? Number.POSITIVE_INFINITY;
}

/** A scheduled time and the one after it, in milliseconds since the epoch. */
export interface SlotSpan {
  slotMs: number;
  nextMs: number;
}

/**
 * Returns a function that finds the latest scheduled time at or before a given time; null if there is none. The result
 * is cached until the next scheduled time, because parsing cron is slow.
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
