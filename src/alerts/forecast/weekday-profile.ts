import { sum } from './past-days.ts';

export const WEEK_DAYS = 7;
/** Weekday weights are computed from this many weeks. */
const WEEKS = 8;
/** A weekday with a lower weight is treated as a weekday without usage. */
const MIN_WEIGHT = 0.02;
/** Weekday weights are used only if they leave at most this share of the variance unexplained. */
const MAX_UNEXPLAINED_SHARE = 0.7;
/** With fewer days, a weekday pattern cannot be seen. */
const MIN_DAYS = 21;
/** The noise of a day is its difference from the mean of this many days around it. */
const AROUND_DAYS = 28;
/** The latest days are left out of the noise, because they may begin a new level. */
const DAYS_WITHOUT_NOISE = 4;
const MIN_DAY_NOISE = 0.04;

export interface WeekdayProfile {
  /** Weights of weekdays with mean 1, starting with the day that ended last. */
  weights: readonly number[];
  /** Standard deviation of a day from its weekday's usual credits, relative to the mean day. */
  dayNoise: number;
  /**
   * The same for sums of several days. It is larger, because usage around midnight makes neighbouring days depend on
   * each other.
   */
  noise: number;
}

/** From this noise on, usage comes in bursts: days typically differ from the mean day by at least its credits. */
export const BURSTY_NOISE = 1;

/** Computes the weekday weights and the noise of daily credits, latest day first. */
export function computeWeekdayProfile(days: readonly number[]): WeekdayProfile {
  const parts = sharesOfWeeks(days);
  const byWeekday = Array.from({ length: WEEK_DAYS }, (_, weekday) => sharesOfWeekday(parts, weekday));
  const usual = byWeekday.map((shares) => middleMean(shares));
  const total = sum(usual);
  const own = usual.map((part) => (total <= 0 ? 1 : (part * WEEK_DAYS) / total));
  const weights = own.map((weight) => (weight < MIN_WEIGHT ? 0 : weight));
  const even = own.map(() => 1);
  const counts = days.length >= MIN_DAYS && fitsWeekdays(parts, byWeekday, usual) ? weights : even;
  return { weights: counts, ...noiseOf(days, counts) };
}

export function weightOf({ weights }: Pick<WeekdayProfile, 'weights'>, day: number): number {
  return weights[day % WEEK_DAYS] ?? 1;
}

/**
 * Sums the weights of the coming days; the last day may count in part. The first coming day has the weekday of position
 * 6, because positions count backwards from the day that ended last.
 */
export function weightAhead(week: WeekdayProfile, days: number): number {
  let weight = 0;
  for (let day = 0; day < days; day += 1) {
    weight += weightOf(week, WEEK_DAYS - 1 - (day % WEEK_DAYS)) * Math.min(1, days - day);
  }
  return weight;
}

/**
 * Returns the credits of each day divided by the mean of the seven days around it; null if these days have no usage.
 */
function sharesOfWeeks(days: readonly number[]): (number | null)[] {
  const length = Math.min(WEEK_DAYS, days.length);
  return days.slice(0, WEEKS * WEEK_DAYS).map((credits, day) => {
    const first = Math.max(0, Math.min(day - 3, days.length - WEEK_DAYS));
    let used = 0;
    for (let near = first; near < first + length; near += 1) used += days[near] ?? 0;
    return used <= 0 ? null : (credits * length) / used;
  });
}

interface DayShare {
  day: number;
  share: number;
}

/** Returns the results of `sharesOfWeeks` for one weekday, ascending. */
function sharesOfWeekday(parts: readonly (number | null)[], weekday: number): DayShare[] {
  const shares: DayShare[] = [];
  for (let day = weekday; day < parts.length; day += WEEK_DAYS) {
    const share = parts[day];
    if (share != null) shares.push({ day, share });
  }
  return shares.sort((a, b) => a.share - b.share);
}

/** Returns the mean of the middle half, so that a burst in one week does not count. The day `without` is left out. */
function middleMean(ascending: readonly DayShare[], without: number | null = null): number {
  const count = ascending.length - (without === null ? 0 : 1);
  if (count === 0) return 1;
  const cut = Math.floor(count / 4);
  let [total, place] = [0, 0];
  for (const { day, share } of ascending) {
    if (day === without) continue;
    if (place >= cut && place < count - cut) total += share;
    place += 1;
  }
  return total / (count - 2 * cut);
}

/** Reports whether days are clearly closer to the usual share of their weekday than to an average day. */
function fitsWeekdays(
  parts: readonly (number | null)[],
  byWeekday: readonly (readonly DayShare[])[],
  usual: readonly number[],
): boolean {
  const apart = (partOf: (day: number) => number) => {
    let squares = 0;
    for (const [day, part] of parts.entries()) squares += part === null ? 0 : (part - partOf(day)) ** 2;
    return squares;
  };
  const most = apart(() => 1) * MAX_UNEXPLAINED_SHARE;
  // The first test is fast. The second test is slow, because it leaves out each day in turn.
  return (
    apart((day) => usual[day % WEEK_DAYS] ?? 1) < most &&
    apart((day) => middleMean(byWeekday[day % WEEK_DAYS] ?? [], day)) < most
  );
}

function noiseOf(days: readonly number[], weights: readonly number[]): { dayNoise: number; noise: number } {
  const from = Math.min(DAYS_WITHOUT_NOISE, Math.floor(days.length / 2));
  // Running totals, because sums around each day are needed repeatedly.
  const usedBy = [0];
  const weighsBy = [0];
  for (const [day, used] of days.entries()) {
    usedBy.push((usedBy[day] ?? 0) + used);
    weighsBy.push((weighsBy[day] ?? 0) + weightOf({ weights }, day));
  }
  let apart = 0;
  let together = 0;
  let before = 0;
  let expected = 0;
  for (let day = from; day < Math.min(days.length, from + WEEKS * WEEK_DAYS); day += 1) {
    const first = Math.max(from, Math.min(day - AROUND_DAYS / 2, days.length - AROUND_DAYS));
    const end = Math.min(days.length, first + AROUND_DAYS);
    const weighs = (weighsBy[end] ?? 0) - (weighsBy[first] ?? 0);
    const used = (usedBy[end] ?? 0) - (usedBy[first] ?? 0);
    if (used <= 0 || weighs <= 0) continue;
    const weight = weightOf({ weights }, day);
    const off = ((days[day] ?? 0) * weighs) / used - weight;
    apart += off ** 2;
    together += off * before;
    before = off;
    expected += weight ** 2;
  }
  const part = (squares: number) => Math.max(MIN_DAY_NOISE, expected === 0 ? 1 : Math.sqrt(squares / expected));
  return { dayNoise: part(apart), noise: part(apart + 2 * Math.max(0, together)) };
}
