import { isoTime } from './clock.ts';
import { AppError } from './errors.ts';

/** A billing month in the service's form, `YYYY-MM`. */
export type Period = string;

/** The periods from `from` to `to`, both included. If `from` or `to` is missing, there is no limit at that end. */
export interface PeriodWindow {
  from?: Period;
  to?: Period;
}

export const PERIOD_FORM = /^\d{4}-(0[1-9]|1[0-2])$/;

/** Reports whether the text is a valid month in the form `YYYY-MM`. `2026-13` and `2026-1` are not. */
export function isPeriod(text: string): text is Period {
  return PERIOD_FORM.test(text);
}

/**
 * Returns the text if it is a period. Throws `bad_period` otherwise, so that no invalid month reaches the service or
 * the ledger.
 */
export function parsePeriod(text: string, label = 'period'): Period {
  if (isPeriod(text)) return text;
  throw new AppError('bad_period', `${label} ${JSON.stringify(text)} is not a month`, {
    hint: 'write it as YYYY-MM with a month from 01 to 12, such as 2026-02',
  });
}

/** Reports whether the period is the wanted period, or is in the wanted window. `undefined` means all periods. */
export function isInPeriods(period: Period, wanted: Period | PeriodWindow | undefined): boolean {
  if (wanted === undefined || typeof wanted === 'string') return wanted === undefined || period === wanted;
  return period >= (wanted.from ?? period) && period <= (wanted.to ?? period);
}

/** Returns the number of months since year 0. Consecutive periods have consecutive indexes. */
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

/** Returns the periods from `from` to `to`, both included. The list is empty when `to` is before `from`. */
export function periodRange(from: Period, to: Period): Period[] {
  const first = periodIndex(from);
  const count = Math.max(0, periodIndex(to) - first + 1);
  return Array.from({ length: count }, (_, offset) => periodFromIndex(first + offset));
}

export function periodAt(epochMs: number): Period {
  return new Date(epochMs).toISOString().slice(0, 7);
}

/** Returns the start of the period in UTC, in milliseconds since the epoch. */
export function periodStartMs(period: Period): number {
  return Date.parse(`${period}-01T00:00:00.000Z`);
}

/** Returns the end of the period, which is the start of the next one, in milliseconds since the epoch. */
export function periodEndMs(period: Period): number {
  const start = new Date(periodStartMs(period));
  return start.setUTCMonth(start.getUTCMonth() + 1);
}

/**
 * Returns the first and the last second of the calendar month in UTC, in ISO-8601. The program uses these bounds even
 * if the service sends other bounds for the month.
 */
export function periodBounds(period: Period): { start: string; end: string } {
  return { start: isoTime(periodStartMs(period)), end: isoTime(periodEndMs(period) - 1000) };
}

/** Returns the part of the period that has passed at `nowMs`, from 0 (not started) to 1 (over). */
export function elapsedFraction(period: Period, nowMs: number): number {
  const start = periodStartMs(period);
  const fraction = (nowMs - start) / (periodEndMs(period) - start);
  return Math.min(1, Math.max(0, fraction));
}
