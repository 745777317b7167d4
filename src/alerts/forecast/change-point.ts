import { sum } from './past-days.ts';
import { BURSTY_NOISE, computeWeekdayProfile, type WeekdayProfile, weightOf } from './weekday-profile.ts';

/** A tenant's or workspace's current usage level, and when it began. */
export interface UsageLevel {
  /** Days since the rate changed; without a change, the number of days that were read. */
  days: number;
  /** Credits on an average day, whose weekday weight is 1. */
  rate: number;
  /** The rate to fall back to if the change was a short burst or pause; equal to `rate` once the change is certain. */
  fallbackRate: number;
}

/**
 * A change is first searched for in this many latest days. If one is found, the days since that change are searched
 * again; at most ROUNDS searches in all.
 */
const MAX_DAYS = 59;
const ROUNDS = 4;
/** The rate before a change is measured over this many days. */
const DAYS_BEFORE = 28;
/**
 * Two rates differ if one is at least this multiple of the other and they are more than MIN_ERRORS standard errors
 * apart.
 */
const MIN_RATIO = 1.25;
const MIN_ERRORS = 3.5;
/** This share of the higher rate is added to both rates before they are compared, so that tiny rates do not differ. */
const ADDED = 0.02;
/**
 * A new rate is used alone if the weekday weights of its days add up to at least this. Otherwise, the mean of the new
 * and the old rate is used.
 */
const YOUNG_WEIGHT = 1.5;
/** A change at most this old (days) is treated as temporary if a similar change was temporary before. */
const MAX_PASSING = 14;
/** An earlier stretch is similar to a change if it went at least this share of the way to the new rate. */
const FULL_CHANGE_SHARE = 0.75;
/**
 * A new level up to this old (days) may be a burst or a pause. A workspace has many tenants, whose bursts seldom
 * coincide.
 */
export const MAX_BURST_DAYS = { tenant: 10, workspace: 1 };
/**
 * If a level is at most this old (days), the rate of its latest days is checked too: a burst may have ended unnoticed.
 */
const YOUNG_DAYS = 28;
const LATEST_DAYS = 4;
/**
 * Half-lives in days: the weight of a day halves with each half-life of its age. The noisier the usage, the longer its
 * half-life; noise above MAX_NOISE makes no difference.
 */
const LONG_HALF_LIFE = 90;
const SHORT_HALF_LIFE = 10;
const HALF_LIFE_OF_NOISE = 40;
const MAX_NOISE = 1.5;

/**
 * Returns the usage level of daily credits, which are given latest day first. A level up to `maxBurstDays` old may be a
 * burst.
 */
export function findUsageLevel(days: readonly number[], week: WeekdayProfile, maxBurstDays: number): UsageLevel {
  const sums = new DaySums(days, week);
  const halfLife = SHORT_HALF_LIFE + HALF_LIFE_OF_NOISE * Math.min(MAX_NOISE, week.noise);
  // A single burst raises the noise of sums, which would then hide the end of that burst.
  const at = latestChange(sums, days.length, week.noise < BURSTY_NOISE ? week.dayNoise : week.noise);
  const unchanged = (half: number): UsageLevel => {
    const rate = fadingRate(days, week, { from: 0, to: days.length, halfLife: half });
    return { days: days.length, rate, fallbackRate: rate };
  };
  if (at === null) return unchanged(halfLife);
  if (wasTemporaryBefore(sums, days.length, at)) return unchanged(LONG_HALF_LIFE);
  const before = fadingRate(days, week, { from: at, to: days.length, halfLife });
  const since = fadingRate(days, week, { from: 0, to: at, halfLife });
  const rate = sums.between(0, at).weight >= YOUNG_WEIGHT ? since : (since + before) / 2;
  if (at <= maxBurstDays || rate === 0) return { days: at, rate, fallbackRate: before };
  const latest = sums.rate(0, Math.min(at, LATEST_DAYS));
  if (at > YOUNG_DAYS || latest === null) return { days: at, rate, fallbackRate: rate };
  const [low, high] = [Math.min(before, rate), Math.max(before, rate)];
  return { days: at, rate, fallbackRate: Math.min(high, Math.max(low, latest)) };
}

/** The latest lasting change of the daily credits of a tenant or a workspace. */
export interface RateChange {
  /** Days since the change. */
  days: number;
  /** Mean credits a day since the change (`rate`) and in the four weeks before it (`before`). */
  rate: number;
  before: number;
}

/**
 * With fewer than FEW_DAYS days, or fewer than MIN_PAIRS pairs of days with usage, noise cannot be measured well: it is
 * taken to be at least NOISE_OF_FEW.
 */
const FEW_DAYS = 14;
const MIN_PAIRS = 5;
const NOISE_OF_FEW = 0.5;
const MIN_NOISE = 0.04;

/**
 * Returns the latest lasting change of daily credits, which are given latest day first; null if there is no change. The
 * test is that of `findUsageLevel`, but noise is the difference between neighbouring days, which a change of level
 * hardly affects.
 */
export function findRateChange(days: readonly number[]): RateChange | null {
  const week = computeWeekdayProfile(days);
  const sums = new DaySums(days, week);
  const at = latestChange(sums, days.length, noiseBetween(days, week), gainOf);
  if (at === null || wasTemporaryBefore(sums, days.length, at)) return null;
  const before = days.slice(at, at + DAYS_BEFORE);
  // If the new rate is close to the median of the days before, a short spike only raised the mean of those days: that
  // is no lasting change.
  if (!differs(sums.rate(0, at) ?? 0, lowerMedian(ratesOf(days, week, at)))) return null;
  return { days: at, rate: sum(days.slice(0, at)) / at, before: sum(before) / before.length };
}

/** Returns each day's credits divided by its weekday weight, for four weeks back from a day. */
function ratesOf(days: readonly number[], week: WeekdayProfile, from: number, count = DAYS_BEFORE): number[] {
  return days.slice(from, from + count).flatMap((credits, day) => {
    const weight = weightOf(week, from + day);
    return weight > 0 ? [credits / weight] : [];
  });
}

/** Returns the median difference between two days in a row, relative to their mean; days without usage are left out. */
function noiseBetween(days: readonly number[], week: WeekdayProfile): number {
  const rates = ratesOf(days, week, 0, days.length);
  const differences = rates.slice(1).flatMap((rate, day) => {
    const earlier = rates[day] ?? 0;
    return rate + earlier > 0 ? [(2 * Math.abs(rate - earlier)) / (rate + earlier)] : [];
  });
  if (differences.length < MIN_PAIRS) return NOISE_OF_FEW;
  return Math.max(days.length < FEW_DAYS ? NOISE_OF_FEW : MIN_NOISE, lowerMedian(differences));
}

/**
 * Returns the median. Of an even number of values, the lower one of the two in the middle is returned; 0 without
 * values.
 */
function lowerMedian(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0;
}

function differs(a: number, b: number): boolean {
  const [low, high] = [Math.min(a, b), Math.max(a, b)];
  return high > 0 && high >= low * MIN_RATIO;
}

interface Stretch {
  used: number;
  weight: number;
  squares: number;
}

class DaySums {
  readonly #reached: Stretch[] = [{ used: 0, weight: 0, squares: 0 }];

  constructor(days: readonly number[], week: WeekdayProfile) {
    for (const [day, credits] of days.entries()) {
      const { used, weight, squares } = this.#at(day);
      const own = weightOf(week, day);
      this.#reached.push({ used: used + credits, weight: weight + own, squares: squares + own ** 2 });
    }
  }

  between(from: number, to: number): Stretch {
    const [a, b] = [this.#at(from), this.#at(to)];
    return { used: b.used - a.used, weight: b.weight - a.weight, squares: b.squares - a.squares };
  }

  rate(from: number, to: number): number | null {
    const { used, weight } = this.between(from, to);
    return weight <= 0 ? null : used / weight;
  }

  #at(day: number): Stretch {
    return this.#reached[day] as Stretch;
  }
}

/**
 * Rates how clear a change between two stretches of days is. `errors`: by how many standard errors their rates differ.
 */
type Clearness = (since: Stretch, before: Stretch, errors: number) => number;

/**
 * Returns the variance that a change between two stretches of days explains. It is largest if the rate really changed
 * between them.
 */
function gainOf(since: Stretch, before: Stretch): number {
  const apart = since.used / since.weight - before.used / before.weight;
  return (apart ** 2 * since.weight * before.weight) / (since.weight + before.weight);
}

function latestChange(
  sums: DaySums,
  length: number,
  noise: number,
  clearness: Clearness = (_since, _before, errors) => errors,
): number | null {
  let found: number | null = null;
  for (let round = 0; round < ROUNDS; round += 1) {
    const next = clearestChange(sums, found ?? Math.min(length, MAX_DAYS + 1), {
      length: found ?? length,
      noise,
      clearness,
    });
    if (next === null) return found;
    found = next;
  }
  return found;
}

function clearestChange(
  sums: DaySums,
  below: number,
  { length, noise, clearness }: { length: number; noise: number; clearness: Clearness },
): number | null {
  let clearest: number | null = null;
  let most = 0;
  for (let at = 1; at < below; at += 1) {
    const since = sums.between(0, at);
    const before = sums.between(at, Math.min(length, at + DAYS_BEFORE));
    if (since.weight <= 0 || before.weight <= 0) continue;
    const rates = [since.used / since.weight, before.used / before.weight];
    const [low, high] = [Math.min(...rates), Math.max(...rates)];
    if (!differs(low, high)) continue;
    const error =
      noise * Math.hypot(Math.sqrt(since.squares) / since.weight, Math.sqrt(before.squares) / before.weight);
    const errors = Math.log((high + high * ADDED) / (low + high * ADDED)) / error;
    if (errors <= MIN_ERRORS) continue;
    const clear = clearness(since, before, errors);
    if (clear > most) [most, clearest] = [clear, at];
  }
  return clearest;
}

/**
 * Reports whether a similar change occurred before and ended within two weeks: a stretch of days that differed about as
 * much from the usual rate as the days since `at` do.
 */
function wasTemporaryBefore(sums: DaySums, length: number, at: number): boolean {
  if (at > MAX_PASSING) return false;
  const now = sums.rate(0, at) ?? 0;
  const usual = sums.rate(at, Math.min(length, at + DAYS_BEFORE)) ?? 0;
  let lasted = 0;
  let wentFar = false;
  for (let from = at; from + at <= length; from += 1) {
    const way = ((sums.rate(from, from + at) ?? usual) - usual) / (now - usual);
    if (way < FULL_CHANGE_SHARE / 2) {
      // The limit is five days longer, because the first and the last window also contain usual days.
      if (wentFar && lasted <= MAX_PASSING + 5 - at) return true;
      lasted = 0;
      wentFar = false;
      continue;
    }
    lasted += 1;
    wentFar ||= way >= FULL_CHANGE_SHARE;
  }
  return false;
}

/** Returns the mean credits a day, weighted so that a day's weight halves with each half-life. */
function fadingRate(
  days: readonly number[],
  week: WeekdayProfile,
  { from, to, halfLife }: { from: number; to: number; halfLife: number },
): number {
  let used = 0;
  let weight = 0;
  for (let day = from; day < to; day += 1) {
    const counts = 0.5 ** ((day - from) / halfLife);
    used += (days[day] ?? 0) * counts;
    weight += weightOf(week, day) * counts;
  }
  return weight <= 0 ? 0 : used / weight;
}
