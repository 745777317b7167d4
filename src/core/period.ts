import { isoTime } from './clock.ts';
import { AppError } from './errors.ts';

/** A billing month as the service labels it, `YYYY-MM`. */
export type Period = string;

/** Periods from the first to the last, both included; absent: no limit. */
export interface PeriodWindow {
  from?: Period;
  to?: Period;
}

export const PERIOD_FORM = /^\d{4}-(0[1-9]|1[0-2])$/;

/** True for a real month in the form `YYYY-MM`: `2026-13` and `2026-1` are not. */
export function isPeriod(text: string): text is Period {
  return PERIOD_FORM.test(text);
}

/** Refuses anything that is not a real month before it is sent to the service or compared with the ledger. */
export function parsePeriod(text: string, what = 'period'): Period {
  if (isPeriod(text)) return text;
  throw new AppError('bad_period', `${what} ${JSON.stringify(text)} is not a month`, {
    hint: 'write it as YYYY-MM with a month from 01 to 12, such as 2026-02',
  });
}

/** Whether it is the period that is wanted, or one of those; undefined: all are. */
export function isWanted(period: Period, wanted: Period | PeriodWindow | undefined): boolean {
  if (wanted === undefined || typeof wanted === 'string') return wanted === undefined || period === wanted;
  return period >= (wanted.from ?? period) && period <= (wanted.to ?? period);
}

/** Months since year 0: consecutive periods have consecutive indexes. */
export function periodIndex(period: Period): number {
  return Number(period.slice(0, 4)) * 12 + Number(period.slice(5, 7)) - 1;
}

export function periodFromIndex(index: number): Period {
  const year = Math.floor(index / 12);
  return `${String(year).padStart(4, '0')}-${String((index % 12) + 1).padStart(2, '0')}`;
}

export function addPeriods(period: Period, months: number): Period {
  return periodFromIndex(periodIndex(period) + months);
}

/** The periods from `from` to `to`, both included; empty when `to` lies before `from`. */
export function periodRange(from: Period, to: Period): Period[] {
  const first = periodIndex(from);
  const count = Math.max(0, periodIndex(to) - first + 1);
  return Array.from({ length: count }, (_, offset) => periodFromIndex(first + offset));
}

export function periodAt(epochMs: number): Period {
  return new Date(epochMs).toISOString().slice(0, 7);
}

/** Milliseconds since the epoch at which the period begins, by the UTC calendar. */
export function periodStartMs(period: Period): number {
  return Date.parse(`${period}-01T00:00:00.000Z`);
}

/** Milliseconds since the epoch at which the period is over: the start of the next one. */
export function periodEndMs(period: Period): number {
  const start = new Date(periodStartMs(period));
  return start.setUTCMonth(start.getUTCMonth() + 1);
}

/**
 * The first and the last second of the period, ISO-8601: the calendar month in UTC. Everything goes by these, whatever
 * bounds the service writes beside its label.
 */
export function periodBounds(period: Period): { start: string; end: string } {
  return { start: isoTime(periodStartMs(period)), end: isoTime(periodEndMs(period) - 1000) };
}

/** How much of the period has passed at `nowMs`, from 0 (not begun) to 1 (over). */
export function elapsedFraction(period: Period, nowMs: number): number {
  const start = periodStartMs(period);
  const fraction = (nowMs - start) / (periodEndMs(period) - start);
  return Math.min(1, Math.max(0, fraction));
}
