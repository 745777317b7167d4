import { addPeriods, type Period } from '../../core/period.ts';
import { ratesOfDays } from './daily-usage.ts';
import type { DailyUsage } from './facts/facts.ts';

/** The days of one period as a row of bars, each a column wide. */
export interface DayBars {
  period: Period;
  /** Credits a day: one character for each day; all rows of a chart have the same scale. */
  bars: string;
  total: bigint;
}

/** Marks of a day with unknown usage and of a day without usage. */
const READ_FAULTS = '·';
const NO_USAGE_MARK = '_';
const LEVELS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/** Both months of a course as bars, the earlier one first, and the highest day that they are drawn against. */
export function dayBars(period: Period, { days }: DailyUsage): { rows: DayBars[]; highest: number } {
  const series = [
    { period: addPeriods(period, -1), known: days.previous },
    { period, known: days.current },
  ].map((own) => ({ ...own, rates: ratesOfDays(own.known) }));
  const highest = Math.max(...series.flatMap(({ rates }) => rates.map((rate) => rate ?? 0)), 0);
  const rows = series.map((own) => ({
    period: own.period,
    bars: own.rates.map((rate) => barOf(rate, highest)).join(''),
    total: own.known.findLast((credits) => credits !== null) ?? 0n,
  }));
  return { rows, highest };
}

function barOf(rate: number | null, highest: number): string {
  if (rate === null) return READ_FAULTS;
  return rate <= 0 ? NO_USAGE_MARK : (LEVELS[Math.round((rate / highest) * (LEVELS.length - 1))] ?? NO_USAGE_MARK);
}
