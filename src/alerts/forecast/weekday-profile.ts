import { sum } from './past-days.ts';

export const WEEK_DAYS = 7;
/** A day is compared with the others of its weekday in so many weeks. */
const WEEKS = 8;
/** A weekday that weighs less is one without use. */
const LEAST_WEIGHT = 0.02;
/** Weekdays count when they leave so much of what days differ by without them. */
const TELLING_PART = 0.7;
/** One day of each weekday says nothing of it. */
const LEAST_DAYS = 21;
/** A day's noise is how far it lies from the mean of so many days around it. */
const AROUND_DAYS = 28;
/** The latest days may be the beginning of something else: they are no noise. */
const LATEST_DAYS = 4;
const LEAST_NOISE = 0.04;

export interface Week {
  /** What each weekday weighs beside the mean of 1: that of the day which ended now first. */
  weights: readonly number[];
  /** How far days lie from what their weekday says: a standard deviation, 1 being a usual day. */
  dayNoise: number;
  /** The same as sums of days have it: what was used around midnight lies in two days, which say less than two others. */
  noise: number;
}

/** Days differ by more than a usual one: work is done in bursts. */
export const BURSTY = 1;

/** What the weekdays of a subject weigh, and how far its days differ beyond that. */
export function weekOf(days: readonly number[]): Week {
  const parts = partsOfWeeks(days);
  const usual = Array.from({ length: WEEK_DAYS }, (_, weekday) => usualPart(parts, weekday));
  const total = sum(usual);
  const own = usual.map((part) => (total <= 0 ? 1 : (part * WEEK_DAYS) / total));
  const weights = own.map((weight) => (weight < LEAST_WEIGHT ? 0 : weight));
  const even = own.map(() => 1);
  const counts = days.length >= LEAST_DAYS && isForetold(parts, usual) ? weights : even;
  return { weights: counts, ...noiseOf(days, counts) };
}

export function weightOf({ weights }: Pick<Week, 'weights'>, day: number): number {
  return weights[day % WEEK_DAYS] ?? 1;
}

/** What the next days weigh, the last one in part. The day that begins now is the one that ended six days ago. */
export function weightAhead(week: Week, days: number): number {
  let weight = 0;
  for (let day = 0; day < days; day += 1) {
    weight += weightOf(week, WEEK_DAYS - 1 - (day % WEEK_DAYS)) * Math.min(1, days - day);
  }
  return weight;
}

/** What each day is beside the mean of the week around it; null where nothing was used. */
function partsOfWeeks(days: readonly number[]): (number | null)[] {
  const length = Math.min(WEEK_DAYS, days.length);
  return days.slice(0, WEEKS * WEEK_DAYS).map((credits, day) => {
    const first = Math.max(0, Math.min(day - 3, days.length - WEEK_DAYS));
    let used = 0;
    for (let near = first; near < first + length; near += 1) used += days[near] ?? 0;
    return used <= 0 ? null : (credits * length) / used;
  });
}

/** The mean of the middle half: a burst in one of the weeks is not usual. */
function middleMean(values: number[]): number {
  if (values.length === 0) return 1;
  const cut = Math.floor(values.length / 4);
  const middle = values.sort((a, b) => a - b).slice(cut, values.length - cut);
  return sum(middle) / middle.length;
}

/** What a weekday is, but for one of its days. */
function usualPart(parts: readonly (number | null)[], weekday: number, without: number | null = null): number {
  const own: number[] = [];
  for (let day = weekday; day < parts.length; day += WEEK_DAYS) {
    const part = parts[day];
    if (part != null && day !== without) own.push(part);
  }
  return middleMean(own);
}

/** Whether each day is nearer to the other days of its weekday than to a day like any other. */
function isForetold(parts: readonly (number | null)[], usual: readonly number[]): boolean {
  const apart = (partOf: (day: number) => number) =>
    sum(parts.map((part, day) => (part === null ? 0 : (part - partOf(day)) ** 2)));
  const most = apart(() => 1) * TELLING_PART;
  // Few come so far: to leave a day out for each of them is what costs.
  return (
    apart((day) => usual[day % WEEK_DAYS] ?? 1) < most && apart((day) => usualPart(parts, day % WEEK_DAYS, day)) < most
  );
}

function noiseOf(days: readonly number[], weights: readonly number[]): { dayNoise: number; noise: number } {
  const from = Math.min(LATEST_DAYS, Math.floor(days.length / 2));
  // What all days up to each have used and weigh: the days around it are asked for again and again.
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
  const part = (squares: number) => Math.max(LEAST_NOISE, expected === 0 ? 1 : Math.sqrt(squares / expected));
  return { dayNoise: part(apart), noise: part(apart + 2 * Math.max(0, together)) };
}
