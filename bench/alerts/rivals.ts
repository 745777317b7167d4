import type { Day } from './days.ts';

/** A way of telling a jump that anybody could write in an afternoon. Asked once a day; what it says first of a month counts. */
export interface Rival {
  name: string;
  /** The days of a tenant up to now, the latest last. */
  tells(days: readonly Day[]): boolean;
}

const RATIO = 1.5;
/** Nobody wants to hear of a few credits more: the same for all. */
const LEAST_CREDITS = 1_000;
/** Before that a month has hardly begun. */
const LEAST_DAYS = 5;
/** Weeks that a median is taken of, and days that an average of days has to have seen. */
const WEEKS = 8;
const MAD_FACTOR = 3 * 1.4826;
/**
 * What AWS says of Cost Anomaly Detection: a day is held against what a rolling window and the weekday lead to expect, from ten days of
 * history on; an alert comes when what an anomaly has cost more so far is over an amount and 40% of what was expected.
 */
const ROLLING = { days: 56, leastDays: 10, weeks: 3, deviations: 3, impactPart: 0.4 };
const EWMA = { weight: 0.2, deviations: 3, leastDays: 28 };

export const RIVALS: readonly Rival[] = [
  { name: '50% over the last month', tells: (days) => isMore(latest(days).reached, latest(days).monthBefore) },
  {
    name: "month to date, 50% over last month's same days",
    tells: (days) => latest(days).day >= LEAST_DAYS && isMore(latest(days).reached, latest(days).sameDaysBefore),
  },
  {
    name: 'straight line, 50% over the last month',
    tells(days) {
      const { day, reached, elapsed, monthBefore } = latest(days);
      return day >= LEAST_DAYS && isMore(reached / elapsed, monthBefore);
    },
  },
  { name: 'week above the median of eight by three MAD', tells: isUnusualWeek },
  { name: 'day above its EWMA by three deviations', tells: isUnusualDay },
  { name: 'like AWS: days beside a rolling window by weekday, by impact', tells: isCostlyAnomaly },
];

function isMore(credits: number, before: number | null): boolean {
  return before !== null && before > 0 && credits >= RATIO * before && credits >= before + LEAST_CREDITS;
}

function isUnusualWeek(days: readonly Day[]): boolean {
  const weeks: number[] = [];
  for (let end = days.length; end >= 7 && weeks.length <= WEEKS; end -= 7) {
    weeks.push(days.slice(end - 7, end).reduce((sum, { used }) => sum + used, 0));
  }
  const [week, ...before] = weeks;
  if (week === undefined || before.length < WEEKS) return false;
  const middle = medianOf(before);
  const spread = medianOf(before.map((each) => Math.abs(each - middle)));
  return week > middle + MAD_FACTOR * spread && week >= middle + LEAST_CREDITS;
}

function isUnusualDay(days: readonly Day[]): boolean {
  if (days.length <= EWMA.leastDays) return false;
  let mean = days[0]?.used ?? 0;
  let variance = 0;
  for (const { used } of days.slice(1, -1)) {
    const difference = used - mean;
    mean += EWMA.weight * difference;
    variance = (1 - EWMA.weight) * (variance + EWMA.weight * difference * difference);
  }
  const { used } = latest(days);
  return used > mean + EWMA.deviations * Math.sqrt(variance) && used >= mean + LEAST_CREDITS;
}

/** Whether the unusual days that end now have cost so much more than expected together. */
function isCostlyAnomaly(days: readonly Day[]): boolean {
  let [actual, expected] = [0, 0];
  for (let end = days.length; end > ROLLING.leastDays; end -= 1) {
    const used = days[end - 1]?.used ?? 0;
    const usual = usualDay(days.slice(Math.max(0, end - 1 - ROLLING.days), end - 1));
    if (used <= usual.expected + ROLLING.deviations * usual.deviation) break;
    actual += used;
    expected += usual.expected;
  }
  const impact = actual - expected;
  return impact >= LEAST_CREDITS && impact >= ROLLING.impactPart * expected;
}

/** What the day after these is expected to be: their mean, times what its weekday was beside it once three weeks say so. */
function usualDay(window: readonly Day[]): { expected: number; deviation: number } {
  const mean = meanOf(window.map(({ used }) => used));
  const factors = Array.from({ length: 7 }, (_, daysAgo) => {
    const own = window.filter((_, place) => (window.length - place) % 7 === daysAgo);
    return mean <= 0 || own.length < ROLLING.weeks ? 1 : meanOf(own.map(({ used }) => used)) / mean;
  });
  const expectedOf = (daysAgo: number) => mean * (factors[daysAgo % 7] ?? 1);
  const errors = window.map(({ used }, place) => (used - expectedOf(window.length - place)) ** 2);
  return { expected: expectedOf(0), deviation: Math.sqrt(meanOf(errors)) };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / Math.max(1, values.length);
}

function latest(days: readonly Day[]): Day {
  const day = days.at(-1);
  if (day === undefined) throw new Error('nobody is asked before the first day');
  return day;
}

export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const [low = 0, high = 0] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  return (low + high) / 2;
}
