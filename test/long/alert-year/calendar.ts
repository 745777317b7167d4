import { addPeriods, type Period, periodEndMs, periodIndex, periodStartMs } from '../../../src/core/period.ts';

export const DAY_MS = 86_400_000;

/** The days that a world has, each by its place: 0 is the first day of the first month. */
export interface Calendar {
  from: Period;
  to: Period;
  startMs: number;
  days: number;
  months: readonly Month[];
}

export interface Month {
  period: Period;
  /** The place of its first day. */
  firstDay: number;
  length: number;
}

/** The days of the months from `from` to `to`, both included. */
export function createCalendar(from: Period, to: Period): Calendar {
  const startMs = periodStartMs(from);
  const count = periodIndex(to) - periodIndex(from) + 1;
  const months = Array.from({ length: count }, (_, index): Month => {
    const period = addPeriods(from, index);
    const firstDay = (periodStartMs(period) - startMs) / DAY_MS;
    return { period, firstDay, length: (periodEndMs(period) - periodStartMs(period)) / DAY_MS };
  });
  return { from, to, startMs, days: (periodEndMs(to) - startMs) / DAY_MS, months };
}

export function monthOf(calendar: Calendar, period: Period): Month {
  const month = calendar.months[periodIndex(period) - periodIndex(calendar.from)];
  if (month === undefined) throw new Error(`the world has no ${period}`);
  return month;
}

/** 0 is Sunday. */
export function weekdayOf({ startMs }: Calendar, day: number): number {
  return new Date(startMs + day * DAY_MS).getUTCDay();
}
