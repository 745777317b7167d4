import { projection } from './measures/projection.ts';
import type { PeriodPhase } from './rule.ts';

/** Months of a tenant's own past that say how a month goes on from here. */
const MONTHS_BACK = 12;
/** The fast part looks at what was used in the last four days. */
const RECENT_DAYS = 4;
/** It must stand above all such days of this past; a burst that comes every month is no news. */
const PAST_DAYS = 60;
const SURGE = { numerator: 13n, denominator: 10n };
/** A month has at most so many times four days: below its average such days nothing surges. */
const WINDOWS_A_MONTH = 8n;
/** The fast part compares with the latest of so many months that was read at this point. */
const MONTHS_TO_ASK = 3;
/** Of what the last four days used, a single day may be so much. */
const ONE_DAY_PERCENT = 60n;
/** A month to date is a pace once so many of its days were used. */
const DAYS_OF_USE = 4;
const DAY_MS = 86_400_000n;

/**
 * What a tenant used over time, in credits, as runs have read it. Null where the ledger has no reading: nothing is
 * concluded from what nobody saw.
 */
export interface Curve {
  /** The total of the month that lies this many months before; null when it cannot speak: the first one, or unread. */
  total(monthsBefore: number): bigint | null;
  /** What that month had come to when as much of it had passed as of the open one now, and so many days before that. */
  monthToDate(monthsBefore: number, daysBefore: number): bigint | null;
  /** Milliseconds. */
  lengthMs(monthsBefore: number): number;
  /** What was used between two moments, in days before now, across months. Never below zero. */
  used(fromDaysAgo: number, toDaysAgo: number): bigint | null;
}

export interface PaceInput {
  /** Credits of the open month so far. */
  current: bigint;
  /** Credits from which on it is a jump. */
  limit: bigint;
  phase: PeriodPhase;
  curve: Curve;
}

/** Where a month heads: `ahead` at the limit or above, `near` from nine tenths of it on, `unknown` without readings. */
export interface Pace {
  verdict: 'ahead' | 'near' | 'behind' | 'unknown';
  /** Credits that the month comes to; null when nothing says so. */
  projection: bigint | null;
}

/** A curve of a tenant without readings. */
export const NO_CURVE: Curve = { total: () => null, monthToDate: () => null, lengthMs: () => 0, used: () => null };

/**
 * Compares an open month with the tenant's own past, in two ways, of which one is enough. Slow: the month to date, drawn
 * out straight and as each earlier month went on from this point, the lowest of them. Fast: what the last four days add
 * if the month goes on like this, when they stand out from all of the past sixty days.
 */
export function judgePace(input: PaceInput): Pace {
  const slow = slowProjection(input);
  if (slow !== null && slow >= input.limit && !hangsOnOneDay(input, slow))
    return { verdict: 'ahead', projection: slow };
  const fast = fastProjection(input);
  if (fast !== null && fast.credits >= input.limit && fast.surges)
    return { verdict: 'ahead', projection: fast.credits };
  if (slow === null && fast === null) return { verdict: 'unknown', projection: null };
  const likely = fast === null || (slow !== null && slow > fast.credits) ? slow : fast.credits;
  if (likely !== null && likely * 10n >= input.limit * 9n) return { verdict: 'near', projection: likely };
  // A part that cannot be judged may still be ahead.
  return { verdict: slow === null ? 'unknown' : 'behind', projection: likely };
}

/** The lowest of what the month comes to, straight and by each earlier month; null when none of them can tell. */
export function slowProjection({ current, limit, phase, curve }: PaceInput): bigint | null {
  let lowest = projection(current, phase);
  const isSettled = () => lowest * 10n < limit * 9n;
  const length = BigInt(phase.lengthMs);
  let months = 0;
  for (let before = 1; before <= MONTHS_BACK && !isSettled(); before += 1) {
    const total = curve.total(before);
    const reached = total === null ? null : curve.monthToDate(before, 0);
    if (total === null || reached === null) continue;
    months += 1;
    if (reached <= 0n) continue;
    if (before === 1) lowest = least(lowest, (current * total) / reached);
    // An earlier month that was shorter than what has passed of this one was over by then.
    const itsLength = BigInt(curve.lengthMs(before));
    if (itsLength > BigInt(phase.elapsedMs)) lowest = least(lowest, (current * total * length) / (reached * itsLength));
  }
  return months === 0 && !isSettled() ? null : lowest;
}

/** Whether too few days were used, or the month heads no more for the limit without its largest day. */
function hangsOnOneDay({ current, limit, phase, curve }: PaceInput, projected: bigint): boolean {
  const days = Math.floor(phase.elapsedMs / Number(DAY_MS));
  let largest = 0n;
  let daysOfUse = 0;
  for (let day = 0; day < days; day += 1) {
    const used = curve.used(day + 1, day) ?? 0n;
    if (used > 0n) daysOfUse += 1;
    if (used > largest) largest = used;
  }
  if (daysOfUse < DAYS_OF_USE) return true;
  const elapsed = BigInt(phase.elapsedMs);
  return projected * (current - largest) * elapsed < limit * current * (elapsed - DAY_MS);
}

function fastProjection({ current, phase, curve }: PaceInput): { credits: bigint; surges: boolean } | null {
  const last = curve.total(1);
  const recent = curve.used(RECENT_DAYS, 0);
  if (last === null || recent === null) return null;
  // Below this there are four days in the past sixty that reach further: no need to look for them.
  if (recent * SURGE.denominator * WINDOWS_A_MONTH < last * SURGE.numerator || recent <= 0n) {
    return { credits: current, surges: false };
  }
  const byMonth = projectionByMonth(current, recent, curve);
  if (byMonth === null) return null;
  const byWeeks = projectionByWeeks(current, recent, phase, curve);
  if (byWeeks === null) return null;
  const credits = byMonth.credits === null ? byWeeks : least(byMonth.credits, byWeeks);
  return { credits, surges: isSpread(recent, curve) && standsOut(recent, curve) };
}

/**
 * What the rest of an earlier month adds, times how the last four days compare with the same days of it; of the latest
 * month that was read then. Its credits are null when it had used nothing in those days.
 */
function projectionByMonth(current: bigint, recent: bigint, curve: Curve): { credits: bigint | null } | null {
  for (let before = 1; before <= MONTHS_TO_ASK; before += 1) {
    const total = curve.total(before);
    const reached = curve.monthToDate(before, 0);
    const earlier = curve.monthToDate(before, RECENT_DAYS);
    if (total === null || reached === null || earlier === null) continue;
    const rest = total > reached ? total - reached : 0n;
    return { credits: reached > earlier ? current + (rest * recent) / (reached - earlier) : null };
  }
  return null;
}

/** Whether it is more than one day that makes the last four stand out. */
function isSpread(recent: bigint, curve: Curve): boolean {
  for (let day = 0; day < RECENT_DAYS; day += 1) {
    const used = curve.used(day + 1, day);
    if (used !== null && used * 100n > recent * ONE_DAY_PERCENT) return false;
  }
  return true;
}

/** What the rest of the month adds at the usual rate of four weeks, times how the last four days compare with theirs. */
function projectionByWeeks(current: bigint, recent: bigint, phase: PeriodPhase, curve: Curve): bigint | null {
  let sameDays = 0n;
  for (const weeks of [1, 2, 3, 4]) {
    const used = curve.used(weeks * 7 + RECENT_DAYS, weeks * 7);
    if (used === null) return null;
    sameDays += used;
  }
  const usual = curve.used(32, RECENT_DAYS);
  if (usual === null || sameDays <= 0n) return null;
  const left = BigInt(phase.lengthMs - phase.elapsedMs);
  return current + (4n * recent * usual * left) / (sameDays * 28n * DAY_MS);
}

/** Whether the last four days reach well above any four days that ended four to sixty days ago. */
function standsOut(recent: bigint, curve: Curve): boolean {
  for (let ended = RECENT_DAYS; ended <= PAST_DAYS; ended += 1) {
    const used = curve.used(ended + RECENT_DAYS, ended);
    if (used !== null && recent * SURGE.denominator < used * SURGE.numerator) return false;
  }
  return true;
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
