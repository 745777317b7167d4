import { addPeriods, type Period, periodAt, periodEndMs, periodStartMs } from '../../src/core/period.ts';
import type { Reading } from '../../test/long/alert-year/play.ts';

const DAY_MS = 86_400_000;

/** What a tenant had come to by the last reading of a day, in credits. */
export interface Day {
  atMs: number;
  period: Period;
  /** Of the month, from 1. */
  day: number;
  /** How much of the month has passed. */
  elapsed: number;
  reached: number;
  /** The month before as it is known now, and as it was read when as many days of it had passed; null before the first reading. */
  monthBefore: number | null;
  sameDaysBefore: number | null;
  /** Since the last day that was read, a day. */
  used: number;
}

/** The days of each tenant, as the last reading of each of them shows it. */
export function daysOf(readings: readonly Reading[]): Map<string, Day[]> {
  const days = new Map<string, Day[]>();
  const known = new Map<string, Map<Period, number>>();
  for (const { atMs, records } of lastOfDays(readings)) {
    for (const { tenantId, period, credits } of records) {
      const months = known.get(tenantId) ?? new Map<Period, number>();
      known.set(tenantId, months.set(period, credits));
    }
    const period = periodAt(atMs);
    const elapsedMs = atMs - periodStartMs(period);
    for (const [tenantId, months] of known) {
      const own = days.get(tenantId) ?? [];
      days.set(tenantId, own);
      const before = addPeriods(period, -1);
      const reached = months.get(period) ?? 0;
      const last = own.at(-1);
      const lastReached = last === undefined ? null : last.period === period ? last.reached : 0;
      const restBefore =
        last === undefined || last.period === period ? 0 : (months.get(last.period) ?? 0) - last.reached;
      own.push({
        ...{ atMs, period, reached, day: Math.floor(elapsedMs / DAY_MS) + 1 },
        elapsed: elapsedMs / (periodEndMs(period) - periodStartMs(period)),
        monthBefore: own.some((day) => day.period === before) ? (months.get(before) ?? 0) : null,
        sameDaysBefore: reachedBy(own, before, elapsedMs),
        used:
          last === undefined || lastReached === null
            ? 0
            : (reached - lastReached + restBefore) / Math.max(1, Math.round((atMs - last.atMs) / DAY_MS)),
      });
    }
  }
  return days;
}

function reachedBy(days: readonly Day[], period: Period, elapsedMs: number): number | null {
  const byMs = periodStartMs(period) + elapsedMs;
  return days.findLast((day) => day.period === period && day.atMs <= byMs)?.reached ?? null;
}

function lastOfDays(readings: readonly Reading[]): Reading[] {
  return readings.filter(({ atMs }, place) => {
    const next = readings[place + 1];
    return next === undefined || Math.floor(next.atMs / DAY_MS) > Math.floor(atMs / DAY_MS);
  });
}
