import type { Fraction } from '../fraction.ts';
import { type Curve, DAY_MS, least, type PaceInput, usedOnDay } from './curve.ts';

/** What was used in the latest days, as many as usually bring `sevenths` of a week's credits. */
interface Stretch {
  sevenths: bigint;
  /** It stands out from so many times what is usual, and from all such stretches of the past sixty days. */
  surge: Fraction;
  /** Percent of it that a single day may be. */
  oneDay: bigint;
}

const STRETCHES: readonly Stretch[] = [
  { sevenths: 4n, surge: { numerator: 3n, denominator: 2n }, oneDay: 60n },
  { sevenths: 2n, surge: { numerator: 17n, denominator: 10n }, oneDay: 70n },
];
/** The rate since it began to rise is the highest of days which usually bring two sevenths of a week, a twentieth lower. */
const RISE_SEVENTHS = 2n;
const RISE_PERCENT = 95n;
/** A burst that comes every month is no news. */
const PAST_DAYS = 60;
/** What is usual: the same days of the week in so many weeks before. */
const WEEKS = [1, 2, 3, 4];
const WEEK_DAYS = 7;
/** Compared with the latest of so many months that was read at this point. */
const MONTHS_TO_ASK = 3;
/** Days by which it is judged whether weeks or months foretell a tenant better. */
const FIT_DAYS = 35;
const LEAST_FIT_DAYS = 28;

export interface FastPart {
  /** Credits that the month comes to. */
  credits: bigint;
  /** The latest days stand out. */
  surges: boolean;
}

/**
 * What the latest days add if the month goes on like this: times what its remaining days of the week usually add, and
 * times what the rest of the month before added. The lower of the two counts, but for who is foretold better by weeks.
 * Null when that was not read, or when the latest days are usual ones.
 */
export function fastProjection({ current, phase, curve }: PaceInput): FastPart | null {
  const usual = usualWeek(curve);
  if (usual === null || curve.total(1) === null) return null;
  let best: FastPart | null = null;
  for (const stretch of STRETCHES) {
    const latest = stretchOf(curve, usual, { endedDaysAgo: 0, sevenths: stretch.sevenths });
    if (latest === null || !isAbove(latest, stretch.surge, { used: 1n, expected: 4n })) continue;
    const leftMs = phase.lengthMs - phase.elapsedMs;
    const risen = ((current + byRate(risenRate(curve, usual, latest), usual, leftMs)) * RISE_PERCENT) / 100n;
    const byWeeks = most(current + byRate(latest, usual, leftMs), risen);
    const byMonth = monthProjection(current, latest, curve);
    const credits = byMonth === null || weeksFitBetter(curve, latest.days) ? byWeeks : least(byMonth, byWeeks);
    const surges = latest.largest * 100n <= latest.used * stretch.oneDay && standsOut(curve, usual, latest, stretch);
    if (best === null || (surges && !best.surges) || (surges === best.surges && credits > best.credits)) {
      best = { credits, surges };
    }
  }
  return best;
}

/** The least of what stretches stand out by. */
const LEAST_SURGE: Fraction = { numerator: 3n, denominator: 2n };

/**
 * Whether the latest days, as many as it takes, reach above the same days of the week before by what they must to stand out.
 * Few readings tell that of most tenants they do not.
 */
export function mayStandOut(curve: Curve): boolean {
  for (let days = 1; days <= WEEK_DAYS; days += 1) {
    const [used, before] = [curve.used(days, 0), curve.used(WEEK_DAYS + days, WEEK_DAYS)];
    if (used === null || before === null || used * LEAST_SURGE.denominator >= before * LEAST_SURGE.numerator)
      return true;
  }
  return false;
}

/** Days that are usual again after a burst, and how far above the usual they may be. */
const DAYS_AFTER = 4;
const AS_USUAL: Fraction = { numerator: 5n, denominator: 4n };

/** Whether the latest days are usual ones again, so that what was used before them is no rate any more. */
export function isUsualAgain(curve: Curve): boolean {
  const usual = usualWeek(curve);
  const used = curve.used(DAYS_AFTER, 0);
  if (usual === null || used === null) return false;
  const expected = usual.days.slice(0, DAYS_AFTER).reduce((sum, day) => sum + day, 0n);
  return 4n * used * AS_USUAL.denominator <= expected * AS_USUAL.numerator;
}

/** Credits of each day of the week, the one that ended now first: four times the middle of four weeks. */
interface UsualWeek {
  days: readonly bigint[];
  week: bigint;
}

function usualWeek(curve: Curve): UsualWeek | null {
  const days: bigint[] = [];
  for (let day = 0; day < WEEK_DAYS; day += 1) {
    const weeks: bigint[] = [];
    for (const back of WEEKS) {
      const used = usedOnDay(curve, day + back * WEEK_DAYS);
      if (used === null) return null;
      weeks.push(used);
    }
    // A burst in one of the weeks is not usual.
    const [, low = 0n, high = 0n] = weeks.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
    days.push(2n * (low + high));
  }
  const week = days.reduce((sum, used) => sum + used, 0n);
  return week <= 0n ? null : { days, week };
}

interface Days {
  days: number;
  used: bigint;
  /** What is usual, four times. */
  expected: bigint;
  largest: bigint;
}

/** The days that ended so many days ago and usually bring that much of a week; null when they were not all read. */
function stretchOf(
  curve: Curve,
  { days: usual, week }: UsualWeek,
  { endedDaysAgo, sevenths }: { endedDaysAgo: number; sevenths: bigint },
): Days | null {
  const found: Days = { days: 0, used: 0n, expected: 0n, largest: 0n };
  while (found.expected * 7n < sevenths * week && found.days < WEEK_DAYS) {
    const day = endedDaysAgo + found.days;
    const used = usedOnDay(curve, day);
    if (used === null) return null;
    found.used += used;
    found.expected += usual[day % WEEK_DAYS] ?? 0n;
    if (used > found.largest) found.largest = used;
    found.days += 1;
  }
  return found;
}

type Rate = Pick<Days, 'used' | 'expected'>;

function isAbove(rate: Rate, { numerator, denominator }: Fraction, than: Rate): boolean {
  return rate.used * than.expected * denominator >= than.used * rate.expected * numerator;
}

/** The highest rate of the latest days: what lies before the rise thins it out. */
function risenRate(curve: Curve, { days: usual, week }: UsualWeek, latest: Days): Rate {
  const so: Rate = { used: 0n, expected: 0n };
  let highest: Rate = latest;
  for (let day = 0; day < latest.days; day += 1) {
    so.used += usedOnDay(curve, day) ?? 0n;
    so.expected += usual[day] ?? 0n;
    if (so.expected * 7n < RISE_SEVENTHS * week) continue;
    if (so.used * highest.expected > highest.used * so.expected) highest = { ...so };
  }
  return highest;
}

/** What the days that are left add at a rate; the day that begins now is the one a week before it ended. */
function byRate({ used, expected }: Rate, { days: usual }: UsualWeek, leftMs: number): bigint {
  let rest = 0n;
  for (let day = 0; day * DAY_MS < leftMs; day += 1) {
    const weekday = (WEEK_DAYS - 1 - (day % WEEK_DAYS)) % WEEK_DAYS;
    rest += (usual[weekday] ?? 0n) * BigInt(Math.min(DAY_MS, leftMs - day * DAY_MS));
  }
  return (used * rest) / (expected * BigInt(DAY_MS));
}

/** What the rest of an earlier month added, times how the latest days compare with the same days of it; null without. */
function monthProjection(current: bigint, latest: Days, curve: Curve): bigint | null {
  for (let before = 1; before <= MONTHS_TO_ASK; before += 1) {
    const total = curve.total(before);
    const reached = curve.monthToDate(before, 0);
    const earlier = curve.monthToDate(before, latest.days);
    if (total === null || reached === null || earlier === null) continue;
    const rest = total > reached ? total - reached : 0n;
    return reached > earlier ? current + (rest * latest.used) / (reached - earlier) : null;
  }
  return null;
}

/** Whether the days before the latest ones resemble the week before more than the same days of the month before. */
function weeksFitBetter(curve: Curve, from: number): boolean {
  const month = Math.round(curve.lengthMs(1) / DAY_MS);
  let byWeek = 0n;
  let byMonth = 0n;
  let compared = 0;
  for (let day = from; day < from + FIT_DAYS; day += 1) {
    const [used, weekBefore, monthBefore] = [0, WEEK_DAYS, month].map((back) =>
      curve.usedAsRead(day + back + 1, day + back),
    ) as [bigint | null, bigint | null, bigint | null];
    if (used === null || weekBefore === null || monthBefore === null) continue;
    compared += 1;
    byWeek += difference(used, weekBefore);
    byMonth += difference(used, monthBefore);
  }
  return compared >= LEAST_FIT_DAYS && byWeek < byMonth;
}

/** Whether the latest days reach well above all such days of the past sixty. */
function standsOut(curve: Curve, usual: UsualWeek, latest: Days, { sevenths, surge }: Stretch): boolean {
  for (let endedDaysAgo = latest.days; endedDaysAgo <= PAST_DAYS; endedDaysAgo += 1) {
    const earlier = stretchOf(curve, usual, { endedDaysAgo, sevenths });
    if (earlier !== null && earlier.used > 0n && !isAbove(latest, surge, earlier)) return false;
  }
  return true;
}

function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function difference(a: bigint, b: bigint): bigint {
  return a > b ? a - b : b - a;
}
