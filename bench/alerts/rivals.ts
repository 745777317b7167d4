import { medianOf } from '../../test/long/alert-year/score/median.ts';
import type { SentMessage } from '../../test/long/alert-year/score/sent.ts';
import type { Day } from './days.ts';

/** A simple way to detect a jump. It is asked once a day. */
export interface Rival {
  name: string;
  /** Once a tenant and month, or each time an anomaly begins. */
  sends: 'once a month' | 'per anomaly';
  /** Whether the latest of the first `end` days of a tenant is worth a message. */
  detects(days: readonly Day[], end: number): boolean;
}

const RATIO = 1.5;
/** Increases of fewer credits are not sent; the same for all methods. */
const MIN_CREDITS = 1_000;
/** A month is not extrapolated before this day. */
const MIN_DAY = 5;
/** Weeks that a median is taken over. */
const WEEKS = 8;
const MAD_FACTOR = 3 * 1.4826;
const EWMA = { weight: 0.2, deviations: 3, minDays: 28 };
/**
 * AWS documents of Cost Anomaly Detection: it needs ten days of history, allows for weekly patterns and growth, and sends an alert once
 * the total impact of an anomaly (actual minus expected cost since it began) reaches the amount and the percentage of the
 * subscription, by default 100 USD and 40%. How it expects a day is not documented; three deviations stand in for it.
 */
const AWS = { windowDays: 56, minDays: 10, minWeeks: 3, deviations: 3, impactShare: 0.4 };

export const RIVALS: readonly Rival[] = [
  {
    name: 'static: month to date 50% over last month',
    sends: 'once a month',
    detects: (days, end) => isMore(dayAt(days, end).monthToDate, dayAt(days, end).previousMonth),
  },
  {
    name: "month to date 50% over last month's same days",
    sends: 'once a month',
    detects(days, end) {
      const { day, monthToDate, previousToDate } = dayAt(days, end);
      return day >= MIN_DAY && isMore(monthToDate, previousToDate);
    },
  },
  {
    name: 'straight line 50% over last month',
    sends: 'once a month',
    detects(days, end) {
      const { day, monthToDate, elapsed, previousMonth } = dayAt(days, end);
      return day >= MIN_DAY && isMore(monthToDate / elapsed, previousMonth);
    },
  },
  { name: 'week over median of eight and three MAD', sends: 'per anomaly', detects: isUnusualWeek },
  { name: 'day over mean and three deviations', sends: 'per anomaly', detects: isUnusualDay },
  { name: 'like AWS Cost Anomaly Detection', sends: 'per anomaly', detects: isCostlyAnomaly },
];

/** Returns the messages of a rival. One is a forecast (`likely`) while the month is below `max(1.5 x previous, previous + 1,000)`. */
export function rivalMessages({ sends, detects }: Rival, days: ReadonlyMap<string, readonly Day[]>): SentMessage[] {
  const messages: SentMessage[] = [];
  for (const [tenant, own] of days) {
    let wasDetected = false;
    let lastPeriod: string | null = null;
    for (let end = 1; end <= own.length; end += 1) {
      const isDetected = detects(own, end);
      const { atMs, period, monthToDate, previousMonth } = dayAt(own, end);
      const isNew = sends === 'once a month' ? lastPeriod !== period : !wasDetected;
      if (isDetected && isNew) {
        lastPeriod = period;
        const level = isMore(monthToDate, previousMonth) ? 'happened' : 'likely';
        const rule = previousMonth === 0 ? 'new_spend' : 'jump';
        const alert = {
          rule,
          tenant,
          period,
          event: 'opened',
          level,
          severity: null,
          range: null,
          limit: null,
        } as const;
        messages.push({ atMs, alerts: [alert] });
      }
      wasDetected = isDetected;
    }
  }
  return messages.sort((a, b) => a.atMs - b.atMs);
}

function isMore(credits: number, before: number | null): boolean {
  return before !== null && before > 0 && credits >= RATIO * before && credits >= before + MIN_CREDITS;
}

function isUnusualWeek(days: readonly Day[], end: number): boolean {
  const weeks: number[] = [];
  for (let until = end; until >= 7 && weeks.length <= WEEKS; until -= 7) {
    weeks.push(days.slice(until - 7, until).reduce((sum, { used }) => sum + used, 0));
  }
  const [week, ...before] = weeks;
  if (week === undefined || before.length < WEEKS) return false;
  const middle = medianOf(before) ?? 0;
  const spread = medianOf(before.map((each) => Math.abs(each - middle))) ?? 0;
  return week > middle + MAD_FACTOR * spread && week >= middle + MIN_CREDITS;
}

function isUnusualDay(days: readonly Day[], end: number): boolean {
  if (end <= EWMA.minDays) return false;
  let mean = days[0]?.used ?? 0;
  let variance = 0;
  for (const { used } of days.slice(1, end - 1)) {
    const difference = used - mean;
    mean += EWMA.weight * difference;
    variance = (1 - EWMA.weight) * (variance + EWMA.weight * difference * difference);
  }
  const { used } = dayAt(days, end);
  return used > mean + EWMA.deviations * Math.sqrt(variance) && used >= mean + MIN_CREDITS;
}

/** Whether the unusual days that end now have reached the impact that is sent. */
function isCostlyAnomaly(days: readonly Day[], end: number): boolean {
  let [actual, expected] = [0, 0];
  for (let until = end; until > AWS.minDays; until -= 1) {
    const used = days[until - 1]?.used ?? 0;
    const usual = usualDay(days.slice(Math.max(0, until - 1 - AWS.windowDays), until - 1));
    if (used <= usual.expected + AWS.deviations * usual.deviation) break;
    actual += used;
    expected += usual.expected;
  }
  const impact = actual - expected;
  return impact >= MIN_CREDITS && impact >= AWS.impactShare * expected;
}

/** The day after a window: its mean, times the factor of the weekday once three weeks show it. */
function usualDay(window: readonly Day[]): { expected: number; deviation: number } {
  const mean = meanOf(window.map(({ used }) => used));
  const factors = Array.from({ length: 7 }, (_, daysAgo) => {
    const own = window.filter((_, place) => (window.length - place) % 7 === daysAgo);
    return mean <= 0 || own.length < AWS.minWeeks ? 1 : meanOf(own.map(({ used }) => used)) / mean;
  });
  const expectedOf = (daysAgo: number) => mean * (factors[daysAgo % 7] ?? 1);
  const errors = window.map(({ used }, place) => (used - expectedOf(window.length - place)) ** 2);
  return { expected: expectedOf(0), deviation: Math.sqrt(meanOf(errors)) };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0) / Math.max(1, values.length);
}

function dayAt(days: readonly Day[], end: number): Day {
  const day = days[end - 1];
  if (day === undefined) throw new Error(`a tenant of ${days.length} days has no day ${end}`);
  return day;
}
