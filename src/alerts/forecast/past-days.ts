export interface Past {
  /** Daily credits, the latest complete day first, back to the first day that was read or had usage. */
  days: readonly number[];
  elapsed: number;
  /** Lengths of the open month and the two previous months, in days. */
  lengths: readonly [open: number, before: number, earlier: number];
  /** Credits that each of the two previous months added after the same number of days; null without a reading. */
  rests: readonly [before: number | null, earlier: number | null];
}

export const DAYS_BACK = 120;
/** A tenant starts over after this many days without usage. */
const LONGEST_PAUSE = 28;

/**
 * Returns the daily credits from cumulative readings; null readings end the series. For a subject without usage before,
 * or within four weeks, the incomplete first day is left out.
 */
export function readDays(reachedBefore: (daysAgo: number) => bigint | null): number[] {
  const days: number[] = [];
  let idle = 0;
  let later = reachedBefore(0);
  for (let day = 0; day < DAYS_BACK && idle < LONGEST_PAUSE; day += 1) {
    const earlier = reachedBefore(day + 1);
    if (earlier === null || later === null) break;
    // Withdrawn credits do not count as usage.
    days.push(Math.max(0, Number(later - earlier)));
    idle = later > earlier ? 0 : idle + 1;
    later = earlier;
  }
  const began = days.findLastIndex((used) => used > 0);
  return idle === 0 || began < 0 ? days : days.slice(0, began);
}

/** Returns the credits of each of the latest days, latest first, back to the first day that was read. */
export function readAllDays(reachedBefore: (daysAgo: number) => bigint | null, daysBack: number): number[] {
  const days: number[] = [];
  let later = reachedBefore(0);
  for (let day = 0; day < daysBack; day += 1) {
    const earlier = reachedBefore(day + 1);
    if (earlier === null || later === null) break;
    days.push(Math.max(0, Number(later - earlier)));
    later = earlier;
  }
  return days;
}

/** Credits between two moments, in days before now. */
export function usedBetween(days: readonly number[], from: number, to: number): number {
  let used = 0;
  for (let day = Math.floor(from); day < to; day += 1) {
    used += (days[day] ?? 0) * (Math.min(to, day + 1) - Math.max(from, day));
  }
  return used;
}

/** A tenant with usage on fewer of 28 days has no reliable daily rate. */
export const MIN_ACTIVE_DAYS = 10;

/** Returns the number of days with usage between two moments, in days before now. */
export function activeDaysIn(days: readonly number[], from: number, to: number): number {
  let active = 0;
  for (let day = Math.max(0, Math.floor(from)); day < Math.min(days.length, Math.ceil(to)); day += 1) {
    if ((days[day] ?? 0) > 0) active += 1;
  }
  return active;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
