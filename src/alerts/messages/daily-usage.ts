import { isoTime } from '../../core/clock.ts';
import { DAY_MS } from '../../core/durations.ts';
import { oncePerKey } from '../../core/one-at-a-time.ts';
import { addPeriods, type Period, periodEndMs, periodStartMs } from '../../core/period.ts';
import { figuresReader } from '../../ledger/store/key-figures.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { and, eq, gte, isNotNull, lt, preparedSql, query, sql } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey, workspaceKeyOf } from '../../ledger/store/schema/keys.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import type { PeriodPhase } from '../figures/period-phase.ts';
import { findRateChange, type RateChange } from '../forecast/change-point.ts';
import { READING_TOLERANCE_MS } from '../forecast/run-moments.ts';
import type { DailyUsage } from './facts/facts.ts';

/** A tenant's credits in a period, as they were from `atMs` until the next reading. */
export interface Reading {
  atMs: number;
  credits: bigint;
}

export interface PeriodReadings {
  readings: readonly Reading[];
  /** Credits at present; null without a record. */
  total: bigint | null;
}

export interface DailyUsageInput {
  period: Period;
  /** How much of the period has passed, in milliseconds; the whole length of the period when it is over. */
  elapsedMs: number;
  current: PeriodReadings;
  previous: PeriodReadings;
  /** Reports whether the workspace was read completely on a day, `YYYY-MM-DD`. */
  wasRead: (day: string) => boolean;
}

/** Builds the daily usage of a tenant. Usage between two readings is spread evenly over the days without a reading. */
export function buildDailyUsage({ period, elapsedMs, current, previous, wasRead }: DailyUsageInput): DailyUsage {
  const before = addPeriods(period, -1);
  const startMs = periodStartMs(period);
  const previousLengthMs = startMs - periodStartMs(before);
  const days = {
    previous: atDayEnds(before, previousLengthMs, previous, wasRead),
    current: atDayEnds(period, elapsedMs, current, wasRead),
  };
  const ratesBefore = previous.total === null ? [] : dailyRates(days.previous);
  const rates = dailyRates(days.current);
  const lastRate = rates.pop() ?? 0;
  // The rate of the day in progress is used only once it is above that of the day before. In a past month, the last
  // rate is left out, because it also contains the rest of the day before.
  const isOpen = startMs + elapsedMs < periodEndMs(period);
  if (isOpen && lastRate > (rates.at(-1) ?? ratesBefore.at(-1) ?? 0)) rates.push(lastRate);
  const all = [...ratesBefore, ...rates];
  const change = lastingChangeOf(all);
  const day = change === null ? 0 : rates.length - change.days;
  const seen = change !== null && isDaySeen(days, day) ? change : null;
  const elapsedDays = elapsedMs / DAY_MS;
  const whole = previous.total === null ? null : perDay(previous.total, previousLengthMs / DAY_MS);
  const soFar = current.total === null || elapsedDays <= 0 ? null : perDay(current.total, elapsedDays);
  return {
    since: seen === null ? null : dayOf(startMs + day * DAY_MS),
    usual_daily_credits: seen === null ? whole : BigInt(Math.round(seen.before)),
    recent_daily_credits: seen === null ? soFar : BigInt(Math.round(seen.rate)),
    previous_same_point: samePoint(before, elapsedMs, previous, wasRead),
    days,
  };
}

/** Returns the latest lasting change of daily rates, which are given earliest first; null if there is no change. */
function lastingChangeOf(rates: readonly number[]): RateChange | null {
  // Negative credits are a correction, not a rate.
  if (rates.length === 0 || rates.some((rate) => rate < 0)) return null;
  return findRateChange(rates.toReversed());
}

function atDayEnds(
  period: Period,
  elapsedMs: number,
  { readings, total }: PeriodReadings,
  wasRead: DailyUsageInput['wasRead'],
): (bigint | null)[] {
  const startMs = periodStartMs(period);
  const count = Math.max(0, Math.ceil(elapsedMs / DAY_MS));
  let next = 0;
  let credits = 0n;
  return Array.from({ length: count }, (_, index) => {
    const endMs = startMs + (index + 1) * DAY_MS;
    for (let reading = readings[next]; reading !== undefined && reading.atMs < endMs; reading = readings[next]) {
      credits = reading.credits;
      next += 1;
    }
    if (index === count - 1) return total ?? 0n;
    return wasRead(dayOf(endMs - DAY_MS)) ? credits : null;
  });
}

/**
 * Reports whether readings can show a change of the rate on a day: the usage of that day and of the day before must be
 * known. On the first day of the month (0), only that day's usage must be known. Days below 0 belong to the previous
 * month.
 */
function isDaySeen({ previous, current }: DailyUsage['days'], day: number): boolean {
  const rates = day < 0 ? ratesOfDays(previous) : ratesOfDays(current);
  return rates.at(day) != null && (day === 0 || rates.at(day - 1) != null);
}

/** Returns the credits of each day; null for a day whose start or end was not read. */
export function ratesOfDays(days: readonly (bigint | null)[]): (number | null)[] {
  return days.map((credits, index) => {
    const before = index === 0 ? 0n : (days[index - 1] ?? null);
    return credits === null || before === null ? null : Number(credits - before);
  });
}

/**
 * Returns the credits used on each day. Usage since the last reading is spread evenly over the days without a reading.
 */
function dailyRates(days: readonly (bigint | null)[]): number[] {
  const rates: number[] = [];
  let known = 0n;
  for (const [index, credits] of days.entries()) {
    if (credits === null) continue;
    const rate = Number(credits - known) / (index - rates.length + 1);
    while (rates.length <= index) rates.push(rate);
    known = credits;
  }
  return rates;
}

function samePoint(
  period: Period,
  elapsedMs: number,
  { readings, total }: PeriodReadings,
  wasRead: DailyUsageInput['wasRead'],
): bigint | null {
  const startMs = periodStartMs(period);
  const atMs = startMs + elapsedMs;
  if (atMs >= periodStartMs(addPeriods(period, 1))) return total;
  if (!wasRead(dayOf(atMs)) && !wasRead(dayOf(atMs - DAY_MS))) return null;
  return readings.findLast((reading) => reading.atMs <= atMs)?.credits ?? 0n;
}

function perDay(credits: bigint, days: number): bigint {
  return BigInt(Math.round(Number(credits) / days));
}

function dayOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

interface DailyUsageSubject {
  periodKey: number;
  tenantKey: number;
  phase: PeriodPhase;
}

const entriesOfTenant = preparedSql(
  // `finished_at` is null for the run in progress.
  `SELECT r.finished_at, e.credits_after FROM usage_entries e JOIN runs r ON r.run_key = e.run_key
     WHERE e.period_key = ? AND e.tenant_key = ? ORDER BY e.entry_id`,
  'safeIntegers',
  'raw',
);

/** Creates a function that builds the daily usage of tenants. The days with a complete run are looked up once. */
export function createDailyUsage(connection: LedgerDb): (subject: DailyUsageSubject) => DailyUsage {
  const entriesOf = entriesOfTenant(connection);
  const figuresOf = figuresReader(connection);
  const day = sql<string>`substr(strftime('%Y-%m-%dT%H:%M:%fZ', ${runs.finishedAt}, ${-READING_TOLERANCE_MS / 1000} || ' seconds'), 1, 10)`;
  const readDays = oncePerKey((periodKey: number): ReadonlySet<string> => {
    const period = periodOfKey(periodKey);
    const isApplied = and(eq(runs.workspaceKey, workspaceKeyOf(periodKey)), isNotNull(runs.appliedSeq));
    const isSince = gte(runs.finishedAt, isoTime(periodStartMs(addPeriods(period, -1))));
    const isBefore = lt(runs.finishedAt, isoTime(periodEndMs(period) + READING_TOLERANCE_MS));
    const rows = query(connection)
      .selectDistinct({ day })
      .from(runs)
      .where(and(isApplied, isSince, isBefore))
      .all();
    return new Set(rows.map((row) => row.day));
  });
  const createReadings = (periodKey: number, tenantKey: number, nowMs: number): PeriodReadings => ({
    readings: (entriesOf.all(periodKey, tenantKey) as [string | null, bigint][]).map(([at, credits]) => ({
      // A run that ends just after midnight has read the day before.
      atMs: (at === null ? nowMs : Date.parse(at)) - READING_TOLERANCE_MS,
      credits,
    })),
    total: figuresOf(periodKey, tenantKey)?.credits ?? null,
  });

  return ({ periodKey, tenantKey, phase }) => {
    const period = periodOfKey(periodKey);
    const elapsedMs = phase.over ? phase.lengthMs : phase.elapsedMs;
    const nowMs = periodStartMs(period) + elapsedMs;
    const days = readDays(periodKey);
    const wasRead = (day: string) => days.has(day);
    return buildDailyUsage({
      period,
      elapsedMs,
      wasRead,
      current: createReadings(periodKey, tenantKey, nowMs),
      previous: createReadings(periodKey - 1, tenantKey, nowMs),
    });
  };
}
