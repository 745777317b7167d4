import { addPeriods, type Period, periodAt, periodEndMs, periodStartMs } from '../../src/core/period.ts';
import type { Reading } from '../../test/long/alert-year/play.ts';

const DAY_MS = 86_400_000;

/** A tenant's figures at the last reading of one day, in credits. */
export interface Day {
  atMs: number;
  period: Period;
  /** Day of the month, from 1. */
  day: number;
  /** Share of the month that has passed, 0 to 1. */
  elapsed: number;
  monthToDate: number;
  /** The previous month as it is known now, and as it was when the same time of it had passed; null before the first reading. */
  previousMonth: number | null;
  previousToDate: number | null;
  /** Usage a day since the last day that was read. */
  used: number;
}

/** Returns the days of each tenant by the last reading of each day. */
export function daysOf(readings: readonly Reading[]): Map<string, Day[]> {
  const days = new Map<string, Day[]>();
  const known = new Map<string, Map<Period, number>>();
  for (const { atMs, records } of lastOfDays(readings)) {
    for (const { tenantId, period, credits } of records) {
      const months = known.get(tenantId) ?? new Map<Period, number>();
      known.set(tenantId, months.set(period, credits));
    }
    for (const [tenantId, months] of known) {
      const own = days.get(tenantId) ?? [];
      days.set(tenantId, own);
      own.push(nextDay(own, months, atMs));
    }
  }
  return days;
}

function nextDay(days: readonly Day[], months: ReadonlyMap<Period, number>, atMs: number): Day {
  const period = periodAt(atMs);
  const elapsedMs = atMs - periodStartMs(period);
  const previous = addPeriods(period, -1);
  const monthToDate = months.get(period) ?? 0;
  return {
    atMs,
    period,
    day: Math.floor(elapsedMs / DAY_MS) + 1,
    elapsed: elapsedMs / (periodEndMs(period) - periodStartMs(period)),
    monthToDate,
    previousMonth: days.some((day) => day.period === previous) ? (months.get(previous) ?? 0) : null,
    previousToDate: monthToDateAt(days, previous, elapsedMs),
    used: usedSince(days.at(-1), months, { atMs, period, monthToDate }),
  };
}

/** Usage a day since the last day; the rest of a month that ended in between counts. */
function usedSince(
  last: Day | undefined,
  months: ReadonlyMap<Period, number>,
  { atMs, period, monthToDate }: Pick<Day, 'atMs' | 'period' | 'monthToDate'>,
): number {
  if (last === undefined) return 0;
  const used =
    last.period === period
      ? monthToDate - last.monthToDate
      : monthToDate + (months.get(last.period) ?? 0) - last.monthToDate;
  return used / Math.max(1, Math.round((atMs - last.atMs) / DAY_MS));
}

function monthToDateAt(days: readonly Day[], period: Period, elapsedMs: number): number | null {
  const byMs = periodStartMs(period) + elapsedMs;
  return days.findLast((day) => day.period === period && day.atMs <= byMs)?.monthToDate ?? null;
}

function lastOfDays(readings: readonly Reading[]): Reading[] {
  return readings.filter(({ atMs }, place) => {
    const next = readings[place + 1];
    return next === undefined || Math.floor(next.atMs / DAY_MS) > Math.floor(atMs / DAY_MS);
  });
}
