import { MIN_ACTIVE_DAYS, type PastUsage, sum, usedBetween } from './past-days.ts';
import { WEEK_DAYS } from './weekday-profile.ts';

/** A day's shared factor is the median over at least this many tenants; with fewer it is 1. */
const MIN_TENANTS = 10;
/** A tenant is used for a day if the ledger has this many days before it, MIN_ACTIVE_DAYS of them with usage. */
const MIN_DAYS_READ = 28;
/** Usual usage on a weekday is the median of that weekday in this many weeks. */
const USUAL_WEEKS = 8;
/** A day whose factor is within 15% of 1 is ordinary. */
const MIN_CHANGE = Math.log(1.15);
/** A factor is used only if it differs from 1 by at least this many standard errors of the median. */
const MIN_FACTOR_ERRORS = 3;
/**
 * Standard error of a median for a normal distribution: this factor times the mean absolute deviation over the square
 * root of the count.
 */
const ERROR_OF_MEDIAN = 1.86;
/** A changed level of usage becomes the normal level when it has held on MIN_CHANGED_DAYS of this many days. */
const NEW_NORMAL_DAYS = 28;
const MIN_CHANGED_DAYS = 24;
/**
 * On a day with a shared change, tenants change by different factors. If a tenant's credits, divided by the shared
 * factor, are within this factor of its usual credits, the usual credits are used instead.
 */
const MAX_RESPONSE = 1.6;
/** A normal level that has not held for this many days is forgotten. */
const FORGET_AFTER_DAYS = 56;

/** The effect of the shared factor on one tenant. */
export interface SharedPart {
  /** The credits of the month to date that the shared factor caused; below zero after a shared fall. */
  credits: number;
  /** The shared factor of the latest day (1: no shared change), and the number of days that it has lasted. */
  lasting: { factor: number; days: number };
}

export const NOTHING_SHARED: SharedPart = { credits: 0, lasting: { factor: 1, days: 0 } };

/** Divides a tenant's past days by the shared factor. Returns the changed past, and the part that was removed. */
export function removeSharedFactor(
  past: PastUsage,
  factors: readonly number[],
): { past: PastUsage; shared: SharedPart } {
  if (factors.every((factor) => factor === 1)) return { past, shared: NOTHING_SHARED };
  const { days, elapsed, lengths } = past;
  const own = days.map((credits, day) => credits / (factors[day] ?? 1));
  for (const [day, factor] of factors.entries()) {
    const usual = factor === 1 || day >= own.length ? 0 : usualOn(own, factors, day);
    const change = usual <= 0 ? 0 : (own[day] ?? 0) / usual;
    if (change > 1 / MAX_RESPONSE && change < MAX_RESPONSE) own[day] = usual;
  }
  const [, before, earlier] = lengths;
  // The rest of a previous month is the time from the same day of that month until its end.
  const restWithout = (rest: number | null, from: number, to: number): number | null => {
    const used = usedBetween(days, from, to);
    return rest === null || used <= 0 ? rest : (rest * usedBetween(own, from, to)) / used;
  };
  const rests = [
    restWithout(past.rests[0], elapsed, Math.max(elapsed, before)),
    restWithout(past.rests[1], elapsed + before, Math.max(elapsed + before, before + earlier)),
  ] as const;
  const credits = usedBetween(days, 0, elapsed) - usedBetween(own, 0, elapsed);
  return { past: { ...past, days: own, rests }, shared: { credits, lasting: lastingFactor(factors) } };
}

/** Returns the median of the same weekday in earlier weeks, leaving out days with a shared factor; 0 without any. */
function usualOn(own: readonly number[], factors: readonly number[], day: number): number {
  const weekday: number[] = [];
  for (let same = day + WEEK_DAYS; same < own.length && weekday.length < USUAL_WEEKS; same += WEEK_DAYS) {
    if ((factors[same] ?? 1) === 1) weekday.push(own[same] ?? 0);
  }
  return median(weekday);
}

function lastingFactor(factors: readonly number[]): SharedPart['lasting'] {
  const [latest = 1] = factors;
  const ended = factors.findIndex((factor) => factor === 1 || factor > 1 !== latest > 1);
  return { factor: latest, days: ended < 0 ? factors.length : ended };
}

/**
 * Returns the shared factor of each day, latest first: how many times their usual credits the tenants of a workspace
 * used. It is 1 for ordinary days and for days with too little history. `histories` are the daily credits of a sample
 * of tenants, latest day first. Method: each day gets a level, the median change of the tenants against their usual
 * days. Days are divided by the factor of their level before they serve as usual days, so that a burst never becomes
 * usual. A level that lasts for four weeks becomes normal. Factors compare each day with the present normal level, so a
 * lasting step is also divided out of the days before it.
 */
export function computeSharedFactors(histories: readonly (readonly number[])[]): number[] {
  const length = Math.max(0, ...histories.map((history) => history.length));
  const levels = new Array<number>(length).fill(0);
  const tenants = histories.map((history) => ({ days: [...history], activeBy: countActiveDays(history) }));
  const normal: NormalLevel[] = [{ level: 0, lastDay: length }];
  for (let day = length - 1; day >= 0; day -= 1) {
    const hasPast = day < length - MIN_DAYS_READ;
    const change = medianChangeOf(tenants, day, hasPast ? 'before' : 'after');
    const known = normal.find(({ level, lastDay }) => isNear(change, level) && lastDay - day <= FORGET_AFTER_DAYS);
    const level = known?.level ?? change.level;
    levels[day] = level;
    const factor = Math.exp(level);
    for (const { days } of tenants) if (day < days.length) days[day] = (days[day] ?? 0) / factor;
    if (known !== undefined) {
      known.lastDay = day;
      normal.splice(normal.indexOf(known), 1);
      normal.unshift(known);
      continue;
    }
    const lasting = lastingLevel(levels, day, level);
    if (lasting === null) continue;
    normal.unshift({ level: lasting, lastDay: day });
    for (let since = day; since < day + NEW_NORMAL_DAYS; since += 1) {
      if (isNear({ level: levels[since] ?? 0, error: 0 }, lasting)) levels[since] = lasting;
    }
  }
  const now = normal[0]?.level ?? 0;
  return levels.map((level) => (isNear({ level, error: 0 }, now) ? 1 : Math.exp(level - now)));
}

/** A level that held for four weeks. */
interface NormalLevel {
  level: number;
  /** The latest day on which the level held. */
  lastDay: number;
}

/** A day's median change against usual days, as a natural logarithm, and its standard error. */
interface DayChange {
  level: number;
  error: number;
}

function isNear({ level, error }: DayChange, other: number): boolean {
  return Math.abs(level - other) < Math.max(MIN_CHANGE, MIN_FACTOR_ERRORS * error);
}

/**
 * Returns the median of those levels of the latest four weeks that are close to `level`; null if fewer than
 * MIN_CHANGED_DAYS days are close.
 */
function lastingLevel(levels: readonly number[], day: number, level: number): number | null {
  const near = levels.slice(day, day + NEW_NORMAL_DAYS).filter((other) => Math.abs(other - level) < 2 * MIN_CHANGE);
  return near.length < MIN_CHANGED_DAYS ? null : median(near);
}

interface TenantDays {
  /** Daily credits, latest first. Each day is divided by its level once that is known. */
  days: number[];
  /** For each number of latest days: the number of these days that had usage. */
  activeBy: readonly number[];
}

function countActiveDays(days: readonly number[]): number[] {
  const activeBy = [0];
  for (const [day, credits] of days.entries()) activeBy.push((activeBy[day] ?? 0) + (credits > 0 ? 1 : 0));
  return activeBy;
}

/**
 * Returns the median change of a day against the weeks before it; for the oldest days, against the weeks after it. 0
 * if fewer than ten tenants have enough history.
 */
function medianChangeOf(tenants: readonly TenantDays[], day: number, weeks: 'before' | 'after'): DayChange {
  const changes: number[] = [];
  for (const tenant of tenants) {
    const used = tenant.days[day] ?? 0;
    // Idle days are left out, because they have no ratio and depend on each tenant's habits.
    const usual = used <= 0 ? 0 : usualAround(tenant, day, weeks);
    if (usual > 0) changes.push(Math.log(used / usual));
  }
  if (changes.length < MIN_TENANTS) return { level: 0, error: 0 };
  const level = median(changes);
  const deviation = sum(changes.map((change) => Math.abs(change - level))) / changes.length;
  return { level, error: (ERROR_OF_MEDIAN * deviation) / Math.sqrt(changes.length) };
}

/** Returns the median of the same weekday in the weeks before or after a day; 0 with too little usage around it. */
function usualAround({ days, activeBy }: TenantDays, day: number, weeks: 'before' | 'after'): number {
  const from = weeks === 'before' ? day + 1 : day - MIN_DAYS_READ;
  const to = from + MIN_DAYS_READ;
  if (from < 0 || to > days.length || (activeBy[to] ?? 0) - (activeBy[from] ?? 0) < MIN_ACTIVE_DAYS) return 0;
  const weekday: number[] = [];
  for (let week = 1; week <= USUAL_WEEKS; week += 1) {
    const credits = days[weeks === 'before' ? day + week * WEEK_DAYS : day - week * WEEK_DAYS];
    if (credits !== undefined) weekday.push(credits);
  }
  return median(weekday);
}

/**
 * Returns the median. Sorts the values in place by insertion, because it is called for each tenant and day with eight
 * values.
 */
function median(values: number[]): number {
  for (let place = 1; place < values.length; place += 1) {
    const value = values[place] as number;
    let before = place - 1;
    for (; before >= 0 && (values[before] as number) > value; before -= 1)
      values[before + 1] = values[before] as number;
    values[before + 1] = value;
  }
  const half = values.length / 2;
  return ((values[Math.floor(half)] ?? 0) + (values[Math.ceil(half) - 1] ?? 0)) / 2;
}
