import type { UsageForecast } from './forecast.ts';
import { activeDaysIn, MIN_ACTIVE_DAYS } from './past-days.ts';

/** A tenant is intermittent if it was active on fewer than MIN_ACTIVE_DAYS of this many latest days. */
const RECENT_DAYS = 28;
/** A stretch of activity ends with this many days without usage. */
const PAUSE_DAYS = 7;
/** A tenant pauses by habit if it had MIN_HABITUAL_PAUSES pauses of at least this many days. */
const HABITUAL_PAUSE_DAYS = 14;
const MIN_HABITUAL_PAUSES = 2;
/** Stretches and pauses are measured up to this many days. */
const MAX_STRETCH_DAYS = 120;
const MAX_PAUSE_DAYS = 90;
/** A past moment is compared only if this many days before it are known. */
const MIN_DAYS_BEFORE = 28;

/**
 * Moments of other tenants influence a forecast less: OTHERS_DISTANCE is added to their distance, and OTHERS_WEIGHT is
 * their weight. A tenant's own moments have the weight 1.
 */
const OTHERS_DISTANCE = 1;
const OTHERS_WEIGHT = 0.3;
/**
 * The forecast is taken from the nearest moments that together have this weight, but from at most MAX_NEIGHBOURS
 * moments.
 */
const NEIGHBOUR_WEIGHT = 24;
const MAX_NEIGHBOURS = 80;
/** With fewer comparable moments there is no forecast. */
const MIN_NEIGHBOURS = 5;
/**
 * Past usage is scaled to the present level. If that level is known from only one active day, this part of the scaling
 * is left out. 0: past usage is scaled fully. 1: it is not scaled.
 */
const LEVEL_SHRINKAGE = 0.7;

/** Quantiles for `low` and `high`. */
const LOW = 0.07;
const HIGH = 0.93;

/** Reports whether a tenant pauses habitually: at least two pauses of two weeks or more between days with usage. */
export function pausesByHabit(days: readonly number[]): boolean {
  return countPauses(days) >= MIN_HABITUAL_PAUSES;
}

/** Returns the number of pauses of two weeks or more between days with usage. */
export function countPauses(days: readonly number[]): number {
  let [pauses, idle] = [0, Number.NEGATIVE_INFINITY];
  for (const credits of days) {
    if (credits > 0 && idle >= HABITUAL_PAUSE_DAYS) pauses += 1;
    idle = credits > 0 ? 0 : idle + 1;
  }
  return pauses;
}

/**
 * Reports whether a tenant has no steady rate: it pauses habitually, or it has earlier usage and was active on too few
 * of the latest days. `days` are daily credits, latest first.
 */
export function isIntermittent(days: readonly number[]): boolean {
  if (hasFewActiveDays(days)) return days.slice(RECENT_DAYS).some((credits) => credits > 0);
  return pausesByHabit(days);
}

/**
 * Reports whether the latest 28 days have too few active days for a rate. That is also true for new tenants and for
 * tenants that have just returned.
 */
export function hasFewActiveDays(days: readonly number[]): boolean {
  return activeDaysIn(days, 0, RECENT_DAYS) < MIN_ACTIVE_DAYS;
}

/**
 * Forecasts an open month of an intermittent tenant from its own past. It finds past moments at which the tenant had
 * been active in the same way (days since the pause, active days, credits per active day) and takes the credits of the
 * days after them. Moments of `others`, intermittent tenants of the same workspace, are added if the past of the tenant
 * is short. `days` are the tenant's daily credits, latest first; `left` is the rest of the month in days. Null if too
 * few past moments can be compared.
 */
export function forecastByHabit(
  current: bigint,
  { days, left, others }: { days: readonly number[]; left: number; others: () => readonly (readonly number[])[] },
): UsageForecast | null {
  const now = stretchAt(days, 0);
  const ahead = Math.max(1, Math.round(left));
  const moments = momentsOf(days, now, { ahead, isOwn: true });
  if (moments.length < NEIGHBOUR_WEIGHT) {
    for (const other of others()) moments.push(...momentsOf(other, now, { ahead, isOwn: false }));
  }
  if (moments.length < MIN_NEIGHBOURS) return null;
  const near = nearestMoments(moments);
  const part = left < 1 ? left : 1;
  const reached = (quantile: number) => current + BigInt(Math.round(quantileOf(near, quantile) * part));
  // An intermittent tenant may stop on any day, even if it never did before, so no more credits are sure.
  return { low: reached(LOW), likely: reached(0.5), high: reached(HIGH), sure: null };
}

/**
 * A tenant's activity before a moment: the latest stretch without a week's pause, and the pause before that stretch.
 */
interface ActivityStretch {
  /** The number of days since the stretch began, and the number of these days that had usage. */
  age: number;
  active: number;
  /** Credits per active day, without the stretch's first day, which is incomplete; 0 with a single active day. */
  level: number;
  /** Idle days before the stretch. */
  pause: number;
  /** Active days among the 28 days before the moment. */
  recent: number;
}

/** A past moment that is compared with the present. */
interface Moment {
  distance: number;
  weight: number;
  /** Credits in the days after the moment, scaled to the tenant's present level. */
  rest: number;
}

function stretchAt(days: readonly number[], at: number): ActivityStretch {
  let [age, active, used, first, idle] = [0, 0, 0, 0, 0];
  for (let day = at; day < Math.min(days.length, at + MAX_STRETCH_DAYS) && idle < PAUSE_DAYS; day += 1) {
    const credits = days[day] ?? 0;
    idle = credits > 0 ? 0 : idle + 1;
    if (credits <= 0) continue;
    age = day - at + 1;
    active += 1;
    used += credits;
    first = credits;
  }
  const before = at + age;
  const next = days.slice(before, before + MAX_PAUSE_DAYS).findIndex((credits) => credits > 0);
  const pause = next < 0 ? Math.max(0, Math.min(MAX_PAUSE_DAYS, days.length - before)) : next;
  return {
    age,
    active,
    level: active < 2 ? 0 : (used - first) / (active - 1),
    pause,
    recent: activeDaysIn(days, at, at + RECENT_DAYS),
  };
}

/** Returns the past moments to compare with the present: active days for which the next `ahead` days are known. */
function momentsOf(
  days: readonly number[],
  now: ActivityStretch,
  { ahead, isOwn }: { ahead: number; isOwn: boolean },
): Moment[] {
  const moments: Moment[] = [];
  for (let at = ahead; at + MIN_DAYS_BEFORE <= days.length; at += 1) {
    if ((days[at] ?? 0) <= 0) continue;
    const then = stretchAt(days, at);
    let rest = 0;
    for (let day = at - ahead; day < at; day += 1) rest += days[day] ?? 0;
    const shrinkage = isOwn ? LEVEL_SHRINKAGE / Math.sqrt(Math.max(1, Math.min(now.active, then.active))) : 0;
    const level = now.level <= 0 || then.level <= 0 ? 1 : (now.level / then.level) ** (1 - shrinkage);
    const distance =
      apart(now.age, then.age) +
      apart(now.active, then.active) +
      0.3 * apart(now.recent, then.recent) +
      0.2 * apart(now.pause, then.pause) +
      (isOwn ? 0 : OTHERS_DISTANCE);
    moments.push({ distance, weight: isOwn ? 1 : OTHERS_WEIGHT, rest: rest * level });
  }
  return moments;
}

function apart(a: number, b: number): number {
  return Math.abs(Math.log((a + 1) / (b + 1)));
}

function nearestMoments(moments: Moment[]): Moment[] {
  const ascending = moments.sort((a, b) => a.distance - b.distance);
  let weight = 0;
  const count = ascending.findIndex((moment) => {
    weight += moment.weight;
    return weight >= NEIGHBOUR_WEIGHT;
  });
  return ascending.slice(0, count < 0 ? MAX_NEIGHBOURS : Math.min(count + 1, MAX_NEIGHBOURS));
}

function quantileOf(moments: readonly Moment[], part: number): number {
  const ascending = [...moments].sort((a, b) => a.rest - b.rest);
  const total = ascending.reduce((sum, { weight }) => sum + weight, 0);
  let weight = 0;
  const found = ascending.find((moment) => {
    weight += moment.weight;
    return weight >= part * total;
  });
  return found?.rest ?? 0;
}
