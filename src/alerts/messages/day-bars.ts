import { addPeriods, type Period } from '../../core/period.ts';
import { ratesOfDays } from './daily-usage.ts';
import type { DailyUsage } from './facts/facts.ts';

/** One month as a row of bars, one character for each day. */
export interface DayBars {
  period: Period;
  /** One character for each day. All rows of a chart have the same scale. */
  bars: string;
  total: bigint;
  /** True if the usage of at least one day is known. */
  isKnown: boolean;
}

/** Characters for a day with unknown usage, and for a day without usage. */
const UNKNOWN_USAGE_MARK = '·';
const NO_USAGE_MARK = '_';
const BAR_LEVELS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;

/**
 * Draws the previous and the current month as bars, in this order. `highest` is the credits of the day with the most
 * usage, which sets the scale.
 */
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
    isKnown: own.rates.some((rate) => rate !== null),
  }));
  return { rows, highest };
}

/** Explains the marks that the bars contain: `; · unknown; _ no usage`. */
export function legendOf(rows: readonly DayBars[]): string {
  const marks = [
    [UNKNOWN_USAGE_MARK, 'unknown'],
    [NO_USAGE_MARK, 'no usage'],
  ] as const;
  const shown = marks.filter(([mark]) => rows.some(({ bars }) => bars.includes(mark)));
  return shown.map(([mark, meaning]) => `; ${mark} ${meaning}`).join('');
}

function barOf(rate: number | null, highest: number): string {
  if (rate === null) return UNKNOWN_USAGE_MARK;
  return rate <= 0
    ? NO_USAGE_MARK
    : (BAR_LEVELS[Math.round((rate / highest) * (BAR_LEVELS.length - 1))] ?? NO_USAGE_MARK);
}
