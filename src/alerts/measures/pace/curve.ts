import type { PeriodPhase } from '../judgement.ts';

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
  /** The same where both moments were read: between readings that lie far apart nobody knows on which day it was. */
  usedAsRead(fromDaysAgo: number, toDaysAgo: number): bigint | null;
}

/** A curve of a tenant without readings. */
export const NO_CURVE: Curve = {
  total: () => null,
  monthToDate: () => null,
  lengthMs: () => 0,
  used: () => null,
  usedAsRead: () => null,
};

export interface PaceInput {
  /** Credits of the open month so far. */
  current: bigint;
  /** Credits from which on it is a jump. */
  limit: bigint;
  phase: PeriodPhase;
  curve: Curve;
  /** Nobody waits for this pace yet, so that nothing but `ahead` matters: the rest need not be worked out. */
  isNew?: boolean;
}

/** Months of a tenant's own past that say how a month goes on from here. */
export const MONTHS_BACK = 12;

export const DAY_MS = 86_400_000;

/** Credits of the day that ended so many days ago. */
export function usedOnDay(curve: Curve, daysAgo: number): bigint | null {
  return curve.used(daysAgo + 1, daysAgo);
}

/** What the rest of an earlier month added from this point on; null when it cannot speak. */
export function restOfMonth(curve: Curve, monthsBefore: number): bigint | null {
  const total = curve.total(monthsBefore);
  const reached = total === null ? null : curve.monthToDate(monthsBefore, 0);
  if (total === null || reached === null) return null;
  return total > reached ? total - reached : 0n;
}

export function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

/** In place. */
export function ascending(credits: bigint[]): bigint[] {
  return credits.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
}
