/** The past usage of a tenant or a workspace that a forecast of an open month is made from. */
export interface PastUsage {
  /** Daily credits, the latest complete day first, back to the first day that was read or had usage. */
  days: readonly number[];
  /** Days of the open month that have passed, with fractions. */
  elapsed: number;
  /** Lengths of the open month and the two previous months, in days. */
  lengths: readonly [open: number, before: number, earlier: number];
  /**
   * The credits that each of the two previous months used from the same point on until its end; null without a reading.
   */
  rests: readonly [before: number | null, earlier: number | null];
}

/** A rate is computed from at most this many latest days. */
export const RATE_DAYS = 120;
/**
 * Habitual pauses are looked for in this many latest days. This is more than a year, because habits show only over
 * months.
 */
export const HABIT_DAYS = 400;
/** Days before a pause of this many days are not used. */
const LONGEST_PAUSE = 28;

/** The daily credits of a tenant or a workspace. Each day is read when it is first needed, and only once. */
export class DailyCredits {
  readonly #known: number;
  readonly #reachedBefore: (daysAgo: number) => number;
  readonly #days: number[] = [];
  /** Cumulative credits at the start of the earliest day read; null before any day was read. */
  #reached: number | null = null;

  /**
   * `known` is the number of latest days whose start was read. `reachedBefore` returns the cumulative credits at that
   * many days ago. It is called in order, from 0 days on, and never if no day is needed.
   */
  constructor(known: number, reachedBefore: (daysAgo: number) => number) {
    this.#known = known;
    this.#reachedBefore = reachedBefore;
  }

  /** Returns the credits of this many latest days, latest first, back to the first day that was read. */
  latest(count: number): readonly number[] {
    const until = Math.min(count, this.#known);
    while (this.#days.length < until) {
      const reached = this.#reached ?? this.#reachedBefore(0);
      const earlier = this.#reachedBefore(this.#days.length + 1);
      // A day on which the credits fell has no usage.
      this.#days.push(Math.max(0, reached - earlier));
      this.#reached = earlier;
    }
    return this.#days.slice(0, count);
  }
}

/**
 * Returns the days since the last four weeks in a row without usage. If the tenant used nothing just before the first of
 * these days, that day is left out, because usage may have begun in the middle of it.
 */
export function daysSincePause(days: readonly number[]): readonly number[] {
  let [read, idle] = [0, 0];
  while (read < days.length && idle < LONGEST_PAUSE) {
    idle = (days[read] ?? 0) > 0 ? 0 : idle + 1;
    read += 1;
  }
  const began = read - idle - 1;
  return days.slice(0, idle === 0 || began < 0 ? read : began);
}

/**
 * Returns the credits between two moments, which are given in days before now. For part of a day, the same part of its
 * credits is returned.
 */
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
  let total = 0;
  for (const value of values) total += value;
  return total;
}
