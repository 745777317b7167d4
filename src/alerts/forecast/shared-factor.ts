import { activeDaysIn, MIN_ACTIVE_DAYS, type Past, sum, usedBetween } from './past-days.ts';
import { WEEK_DAYS } from './weekday-profile.ts';

/** A day's factor is the median over at least this many tenants; with fewer it is 1. */
const MIN_TENANTS = 10;
/** A tenant counts once it has been read for this many days before the day, and was active on MIN_ACTIVE_DAYS of them. */
const MIN_DAYS_READ = 28;
/** The usual usage of a weekday is the median of its days in this many weeks. */
const USUAL_WEEKS = 8;
/** A factor within 15% of 1 is an ordinary day. */
const MIN_CHANGE = Math.log(1.15);
/** A factor counts only if it differs from 1 by this many standard errors of the median. */
const MIN_ERRORS = 3;
/** The standard error of a median, in mean absolute deviations over the square root of the count (normal distribution). */
const ERROR_OF_MEDIAN = 1.86;
/** A level becomes normal when it held on at least MIN_CHANGED_DAYS of this many days. */
const NEW_NORMAL_DAYS = 28;
const MIN_CHANGED_DAYS = 24;
/** On a shared day a tenant within this factor of its usual usage counts as usual: not all respond alike. */
const MAX_RESPONSE = 1.6;
/** A normal level that has not held for this many days is forgotten. */
const FORGET_AFTER_DAYS = 56;

/** The part of a tenant's month to date that is due to the shared factor. */
export interface SharedPart {
  /** Credits; below zero after a shared fall. */
  credits: number;
  /** The factor of the latest day and for how many days it has lasted; factor 1 where none lasts. */
  lasting: { factor: number; days: number };
}

export const NOTHING_SHARED: SharedPart = { credits: 0, lasting: { factor: 1, days: 0 } };

/** Returns the past of a tenant as it would have been without the shared factor, and the part that was divided out. */
export function withoutShared(past: Past, factors: readonly number[]): { past: Past; shared: SharedPart } {
  if (factors.every((factor) => factor === 1)) return { past, shared: NOTHING_SHARED };
  const { days, elapsed, lengths } = past;
  const own = days.map((credits, day) => credits / (factors[day] ?? 1));
  for (const [day, factor] of factors.entries()) {
    const usual = factor === 1 || day >= own.length ? 0 : usualOn(own, factors, day);
    const change = usual <= 0 ? 0 : (own[day] ?? 0) / usual;
    if (change > 1 / MAX_RESPONSE && change < MAX_RESPONSE) own[day] = usual;
  }
  const [, before, earlier] = lengths;
  // The rest of the previous month lies between the day a month ago and the start of this one.
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

/** Returns the median of the same weekday in the weeks before a day, ordinary days only; 0 without any. */
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
 * Returns how many times their usual credits the tenants of a workspace used on each day: the factor that they share,
 * latest day first. Ordinary days have 1, and so have days with too little history. `histories` are the daily credits of
 * a sample of tenants, latest day first.
 *
 * Each day has a level: the median change of the tenants against their usual days, which are taken at level 0. So a burst
 * never becomes the usual usage. A level that has lasted for four weeks becomes normal; the factors compare each day with
 * the level that is normal now, so a step that stays is divided out of the days before it.
 */
export function sharedFactors(histories: readonly (readonly number[])[]): number[] {
  const length = Math.max(0, ...histories.map((history) => history.length));
  const levels = new Array<number>(length).fill(0);
  const base = histories.map((history) => [...history]);
  const normal: NormalLevel[] = [{ level: 0, lastDay: length }];
  for (let day = length - 1; day >= 0; day -= 1) {
    const hasPast = day < length - MIN_DAYS_READ;
    const change = changeOf(base, day, hasPast ? 'before' : 'after');
    const known = normal.find(({ level, lastDay }) => isNear(change, level) && lastDay - day <= FORGET_AFTER_DAYS);
    const level = known?.level ?? change.level;
    levels[day] = level;
    for (const [place, history] of histories.entries()) {
      const own = base[place];
      if (own !== undefined && day < history.length) own[day] = (history[day] ?? 0) / Math.exp(level);
    }
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

/** A level that lasted for four weeks. */
interface NormalLevel {
  level: number;
  /** The latest day on which it held. */
  lastDay: number;
}

/** A day's change against the usual days of the tenants, as a natural logarithm, and the standard error of that. */
interface DayChange {
  level: number;
  error: number;
}

function isNear({ level, error }: DayChange, other: number): boolean {
  return Math.abs(level - other) < Math.max(MIN_CHANGE, MIN_ERRORS * error);
}

/** Returns the level that most of the latest four weeks share with `level`; null when they do not. */
function lastingLevel(levels: readonly number[], day: number, level: number): number | null {
  const near = levels.slice(day, day + NEW_NORMAL_DAYS).filter((other) => Math.abs(other - level) < 2 * MIN_CHANGE);
  return near.length < MIN_CHANGED_DAYS ? null : median(near);
}

/**
 * Returns the median change of one day against the weeks before it, or for the oldest days against the weeks after it;
 * 0 where fewer than ten tenants have enough history.
 */
function changeOf(base: readonly (readonly number[])[], day: number, weeks: 'before' | 'after'): DayChange {
  const changes = base.flatMap((days) => {
    const from = weeks === 'before' ? day + 1 : day - MIN_DAYS_READ;
    const to = from + MIN_DAYS_READ;
    if (from < 0 || to > days.length || activeDaysIn(days, from, to) < MIN_ACTIVE_DAYS) return [];
    const weekday: number[] = [];
    for (let week = 1; week <= USUAL_WEEKS; week += 1) {
      const credits = days[weeks === 'before' ? day + week * WEEK_DAYS : day - week * WEEK_DAYS];
      if (credits !== undefined) weekday.push(credits);
    }
    const usual = median(weekday);
    const used = days[day] ?? 0;
    // An idle day has no ratio: the days on which a tenant works are its own habit.
    return usual <= 0 || used <= 0 ? [] : [Math.log(used / usual)];
  });
  if (changes.length < MIN_TENANTS) return { level: 0, error: 0 };
  const level = median(changes);
  const deviation = sum(changes.map((change) => Math.abs(change - level))) / changes.length;
  return { level, error: (ERROR_OF_MEDIAN * deviation) / Math.sqrt(changes.length) };
}

function median(values: number[]): number {
  const ascending = values.sort((a, b) => a - b);
  const half = ascending.length / 2;
  return ((ascending[Math.floor(half)] ?? 0) + (ascending[Math.ceil(half) - 1] ?? 0)) / 2;
}
