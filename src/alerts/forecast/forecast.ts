import { findUsageLevel, MAX_BURST_DAYS, type UsageLevel } from './change-point.ts';
import { activeDaysIn, type PastUsage, sum, usedBetween } from './past-days.ts';
import { NOTHING_SHARED, type SharedPart } from './shared-factor.ts';
import { BURSTY_NOISE, computeWeekdayProfile, type WeekdayProfile, weightAhead, weightOf } from './weekday-profile.ts';

/**
 * A forecast of an open month's credits. `low` and `high` are its 5% and 97% quantiles; for an intermittent tenant, the
 * 7% and 93% quantiles.
 */
export interface Forecast {
  low: bigint;
  likely: bigint;
  high: bigint;
}

/**
 * A forecast with `sure`, the credits that the month reaches in three of four cases. `sure` is null for an intermittent
 * tenant, and if the past is too short.
 */
export interface UsageForecast extends Forecast {
  sure: bigint | null;
}

const LOW_QUANTILE = 0.05;
const HIGH_QUANTILE = 0.97;
/**
 * Quantile of `sure`: the month stays below `sure` in one of four cases. `sure` also allows for the end of a recent
 * rise.
 */
const SURE_QUANTILE = 0.25;
/**
 * With fewer days of usage there is no `sure`, and the noise is at least MIN_NOISE_OF_FEW_DAYS: a few equal days may be
 * chance.
 */
const MIN_SURE_DAYS = 14;
const MIN_NOISE_OF_FEW_DAYS = 0.5;
/** A new tenant with usage on fewer days may not use any more credits: `low` is its credits to date. */
const MIN_LOW_DAYS = 3;
/**
 * If bursts brought more credits early in the month than the usual rate, less is expected later: this share of the
 * excess is subtracted from the rest of the month.
 */
const EARLY_BURSTS_SHARE = 0.5;

/**
 * Forecasts an open month from past days: credits to date, plus the rest of the month at the present rate. Null without
 * a complete day of readings.
 */
export function forecastFromPast(
  current: bigint,
  past: PastUsage,
  {
    shared = NOTHING_SHARED,
    maxBurstDays = MAX_BURST_DAYS.tenant,
  }: { shared?: SharedPart; maxBurstDays?: number } = {},
): UsageForecast | null {
  const { days, elapsed, lengths } = past;
  if (days.length === 0) return null;
  const left = Math.max(0, lengths[0] - elapsed);
  const isFew = days.length < MIN_SURE_DAYS;
  const { weights, dayNoise, noise: own } = computeWeekdayProfile(days);
  const minNoise = isFew ? MIN_NOISE_OF_FEW_DAYS : 0;
  const noise = Math.max(own, minNoise);
  const week = { weights, dayNoise: Math.max(dayNoise, minNoise), noise };
  const level = findUsageLevel(days, week, maxBurstDays);
  const byMonth = restByMonth(past, week, level);
  const ahead = weightAhead(week, left);
  const rest = byMonth ?? level.rate * ahead;
  const back = level.rate === 0 ? level.fallbackRate * ahead : (rest * level.fallbackRate) / level.rate;
  const most = Math.max(rest, back, restOfGrowth(days, left));
  const factors = factorsOf(days, { left, noise, level });
  const inBursts = noise >= BURSTY_NOISE && byMonth === null && level.days === days.length;
  const early = inBursts ? Math.max(0, Number(current) - shared.credits - level.rate * elapsed) : 0;
  const reached = (more: number, factor: number) =>
    current + BigInt(Math.round(Math.max(0, more * factor - early * EARLY_BURSTS_SHARE)));
  // A shared change that has lasted for n days may last for up to n more days.
  const lasts = left <= 0 ? 0 : (shared.lasting.factor - 1) * (Math.min(left, shared.lasting.days) / left);
  const least = isFew && activeDaysIn(days, 0, days.length) < MIN_LOW_DAYS ? 0 : Math.min(rest, back);
  return {
    low: reached(least * (1 + Math.min(0, lasts)), Math.min(1, quantile(factors, LOW_QUANTILE))),
    likely: reached(rest, 1),
    high: reached(most * (1 + Math.max(0, lasts)), Math.max(1, quantile(factors, HIGH_QUANTILE))),
    sure: isFew ? null : reached(Math.min(rest, back), quantile(factors, SURE_QUANTILE)),
  };
}

/** A tenant with fewer days of usage is new: its usage may still be growing. */
const NEW_DAYS = 60;
/** A new tenant grows if the newer half of its latest days has at least this multiple of the older half's credits. */
const MIN_GROWTH = 1.25;
const GROWTH_DAYS = 28;

/** Returns the credits of a growing new tenant in the rest of the month if it keeps growing; 0 for other tenants. */
function restOfGrowth(days: readonly number[], left: number): number {
  const half = Math.floor(Math.min(GROWTH_DAYS, days.length) / 2);
  if (days.length >= NEW_DAYS || half === 0) return 0;
  const [newer, older] = [usedBetween(days, 0, half) / half, usedBetween(days, half, 2 * half) / half];
  if (newer < older * MIN_GROWTH) return 0;
  const growthADay = (newer - older) / half;
  return left * (newer + (growthADay * (half + left)) / 2);
}

/**
 * How the forecast of an open month compares with a limit. `ahead`: `sure` reaches the limit. `inconclusive`: `sure`
 * reaches nine tenths of the limit, so a pending alert stays pending. `near`: `likely` reaches nine tenths of it.
 * `behind`: `likely` is lower. `unknown`: there is no forecast, or no `sure`.
 */
export type Trend = 'ahead' | 'inconclusive' | 'near' | 'behind' | 'unknown';

export function trendOf(monthForecast: UsageForecast | null, limit: bigint): Trend {
  if (monthForecast === null || monthForecast.sure === null) return 'unknown';
  const { sure, likely } = monthForecast;
  if (sure >= limit) return 'ahead';
  if (sure * 10n >= limit * 9n) return 'inconclusive';
  return likely * 10n >= limit * 9n ? 'near' : 'behind';
}

/** Number of days on which forecasting by the day of the month is compared with forecasting by weekday. */
const FIT_DAYS = 35;
/** The day of the month is used instead of the weekday if its error is below this share of the weekday's error. */
const NEARER = 0.85;
/** At most this many latest days are compared with the same days of a previous month. */
const COMPARED_DAYS = 10;
/**
 * If the rate changed at most this many days ago, the days since then are left out of the comparison, because the rate
 * was different a month earlier.
 */
const MAX_SINCE = 14;
/**
 * The ratio of the latest days to the same days of a previous month is capped at this factor, unless the rate
 * changed.
 */
const MAX_TIMES = 4;

/**
 * Forecasts the rest of the month from the same days of the two previous months, scaled to the latest days, and returns
 * the lower of the two results. Null if usage follows the weekday more closely than the day of the month.
 */
function restByMonth(
  { days, elapsed, lengths, rests }: PastUsage,
  week: WeekdayProfile,
  level: UsageLevel,
): number | null {
  const [, before, earlier] = lengths;
  const since = level.days <= MAX_SINCE ? level.days : 0;
  let byWeek = 0;
  let byMonth = 0;
  for (let day = since; day < since + FIT_DAYS; day += 1) {
    const then = days[day + (elapsed - day > 0.5 ? before : earlier)];
    if (then === undefined) return null;
    const first = Math.max(since, day - 14);
    const around = days.slice(first, first + 28);
    const used = days[day] ?? 0;
    byWeek += (used - (sum(around) / around.length) * weightOf(week, day)) ** 2;
    byMonth += (used - then) ** 2;
  }
  if (byMonth >= byWeek * NEARER) return null;
  const latest = Math.min(COMPARED_DAYS, elapsed, since === 0 ? COMPARED_DAYS : Math.max(2, since));
  const most = since === 0 ? MAX_TIMES : Number.POSITIVE_INFINITY;
  const likely = [before, before + earlier].flatMap((ago, month) => {
    const rest = rests[month] ?? null;
    if (rest === null || ago + latest > days.length) return [];
    const then = usedBetween(days, ago, ago + latest);
    const times = then <= 0 ? 1 : usedBetween(days, 0, latest) / then;
    return rest * Math.min(most, Math.max(1 / most, times));
  });
  return likely.length === 0 ? null : Math.min(...likely);
}

/** Each past stretch of days is forecast at the mean rate of this many days before it. */
const REFERENCE_DAYS = 60;
const MAX_STRETCHES = 20;
/** Number of simulated stretches with ordinary variation that are added to the past stretches. */
const SIMULATED_STRETCHES = 10;
/** The error of the rate is computed as if at most this many days were used for it. */
const MAX_RATE_DAYS = 28;
/** Variance that every forecast has: one part for the rest of the month as a whole, and one for each of its days. */
const BASE_VARIANCE = 0.004;
const DAILY_VARIANCE = 0.0005;

/**
 * Returns ratios of actual to forecast credits, ascending. They come from past stretches of days as long as the rest of
 * the month, and from simulated stretches.
 */
function factorsOf(
  days: readonly number[],
  { left, noise, level }: { left: number; noise: number; level: UsageLevel },
): number[] {
  const length = Math.max(1, Math.round(left));
  // Days since the change are left out, because the forecast already uses the changed rate.
  const first = level.days < days.length ? level.days : 0;
  const room = days.length - REFERENCE_DAYS - length;
  const factors: number[] = [];
  for (let from = first; from <= room; from += Math.ceil((room + 1 - first) / MAX_STRETCHES)) {
    const predicted = (usedBetween(days, from + length, from + length + REFERENCE_DAYS) * length) / REFERENCE_DAYS;
    if (predicted > 0) factors.push(usedBetween(days, from, from + length) / predicted);
  }
  const byDays = noise ** 2 * (1 / Math.max(1, left) + 1 / Math.min(MAX_RATE_DAYS, Math.max(1, level.days)));
  const variance = byDays + BASE_VARIANCE + DAILY_VARIANCE * left;
  for (let place = 0; place < SIMULATED_STRETCHES; place += 1)
    factors.push(gammaQuantile(variance, (place + 0.5) / SIMULATED_STRETCHES));
  return factors.sort((a, b) => a - b);
}

/** Returns the value below which a share of the values lies. */
function quantile(ascending: readonly number[], part: number): number {
  const last = ascending.length - 1;
  const place = Math.max(0, Math.min(last, part * ascending.length - 0.5));
  const [low, high] = [ascending[Math.floor(place)] ?? 0, ascending[Math.ceil(place)] ?? 0];
  return low + (high - low) * (place - Math.floor(place));
}

/** Returns a quantile of a gamma distribution with mean 1 (Wilson and Hilferty). */
function gammaQuantile(variance: number, part: number): number {
  return Math.max(0, 1 - variance / 9 + (normalQuantile(part) * Math.sqrt(variance)) / 3) ** 3;
}

/** Returns a quantile of the normal distribution (Hastings), accurate to 0.005. */
function normalQuantile(part: number): number {
  const t = Math.sqrt(-2 * Math.log(Math.min(part, 1 - part)));
  const z = t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t);
  return part < 0.5 ? -z : z;
}
