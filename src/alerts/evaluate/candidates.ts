import type Database from 'better-sqlite3';
import type { MergedRun } from '../../ledger/journal/runs/apply-run.ts';
import type { EntryRange } from '../../ledger/journal/runs/merge-staged.ts';
import { figuresReader } from '../../ledger/store/key-figures.ts';
import { query } from '../../ledger/store/query.ts';
import { count, eq } from '../../ledger/store/schema/drizzle.ts';
import { tenantUsage } from '../../ledger/store/schema/usage-tables.ts';
import type { UsageFigures } from '../rules/rule.ts';
import { pair } from '../track/alert-figures.ts';
import type { PeriodFacts } from './period-facts.ts';
import type { TenantSettings } from './tenant-settings.ts';

type Connection = Database.Database;

/** A tenant in a period, with the figures that rules compare. */
export interface TenantFacts {
  periodKey: number;
  tenantKey: number;
  /** Null without a record. */
  current: UsageFigures | null;
  previous: UsageFigures | null;
  withdrawn: boolean;
}

/** Where the latest days begin, see `Curves.between`; `isHere`: the entries are in the ledger that is asked. */
export interface RecentDays {
  earlier: number;
  later: number | null;
  passed: number;
  isHere: boolean;
}

/** What a period is looked at for. */
export interface Search {
  facts: PeriodFacts;
  /** All of its tenants, or those alone that the run has changed in it or in the period before. */
  all: boolean;
  /** It had settled before: what changes in it may still make a jump of it, and nothing else. */
  isLate: boolean;
  /** Where four days ago lies where a pace can be judged, else null. */
  recentFrom: RecentDays | null;
}

/** Ratios and fractions are doubles here; this much slack keeps the filter from hiding what the exact rule finds. */
const SLACK = 0.999999;

/** Four recent days that stand out are more than this part of the month before, see `judgePace`. */
const SURGE_PART = 1.3 / 8;

/**
 * The tenants of a period that a rule may hold for. SQLite sorts out all but a few by conditions that each rule implies;
 * the rules themselves decide.
 */
export function findCandidates(
  merged: MergedRun,
  settings: TenantSettings,
  { facts, all, isLate, recentFrom }: Search,
): TenantFacts[] {
  const { phase, periodKey } = facts;
  const drops = phase.settled && !isLate;
  const [own, before] = [merged.changed.get(periodKey) ?? NONE, merged.changed.get(periodKey - 1) ?? NONE];
  const values = {
    period: periodKey,
    elapsed: (phase.over ? 1 : phase.elapsedMs / phase.lengthMs) * SLACK,
    ratio: settings.leastRatio,
    least: settings.leastRatio * SLACK,
    floor: settings.leastFloor,
    increase: settings.leastIncrease ?? 0,
    // Where days are compared, a month may weigh more or less than the one before.
    shortest: settings.perDay ? Math.min(1, facts.daysAgainstPrevious) : 1,
    longest: settings.perDay ? Math.max(1, facts.daysAgainstPrevious) : 1,
    newcomers: facts.previousComplete && !facts.previousIsFirst && !isLate ? 1 : 0,
    drops: drops ? 1 : 0,
    surge: SURGE_PART * SLACK,
    earlier: recentFrom?.earlier ?? 0,
    later: recentFrom?.later ?? 0,
    passed: recentFrom?.passed ?? 0,
    ...{ after: own.after, last: own.last, afterBefore: before.after, lastBefore: before.last },
    run: merged.run.runKey,
  };
  const byAmount = (condition: string) => (settings.leastIncrease === null ? '' : ` OR ${condition}`);
  const jumped = settings.plain
    ? `(cur.credits_used >= @elapsed * @ratio * @shortest * prev.credits_used
         AND cur.credits_used >= @elapsed * (@shortest * prev.credits_used + @floor))
       ${byAmount('cur.credits_used >= @elapsed * (@shortest * prev.credits_used + @increase)')}`
    : 'cur.credits_used >= @elapsed * @floor';
  const dropped = settings.plain
    ? `((@longest * prev.credits_used - cur.credits_used >= @floor
         AND @longest * prev.credits_used >= @least * cur.credits_used)
        ${byAmount('@longest * prev.credits_used - cur.credits_used >= @increase')})`
    : '1';
  const readBy = (entry: string) => `coalesce((SELECT e4.credits_after FROM usage_entries e4
    WHERE e4.period_key = cur.period_key AND e4.tenant_key = cur.tenant_key AND e4.entry_id <= ${entry}
    ORDER BY e4.entry_id DESC LIMIT 1), 0)`;
  const recently =
    recentFrom?.isHere === true
      ? `AND cur.credits_used - ${recentReading(recentFrom, readBy)} >= @surge * prev.credits_used`
      : '';
  const surged =
    recentFrom === null
      ? ''
      : `OR (prev.credits_used > 0 AND cur.credits_used >= @surge * prev.credits_used ${recently})`;
  const few = !all && !isMost(merged.connection, periodKey, [own, before]);
  const source = few
    ? `(${ENTERED} UNION ${ENTERED_BEFORE}) e CROSS JOIN tenant_usage cur ON cur.tenant_key = e.tenant_key`
    : 'tenant_usage cur';
  const present = merged.connection
    .prepare(
      `SELECT cur.tenant_key, cur.credits_used, cur.request_count, cur.withdrawn, prev.credits_used, prev.request_count
       FROM ${source}
       LEFT JOIN tenant_usage prev ON prev.period_key = @period - 1 AND prev.tenant_key = cur.tenant_key
       WHERE cur.period_key = @period AND cur.withdrawn = 0
         ${all || few ? '' : 'AND (cur.changed_run_key = @run OR prev.changed_run_key = @run)'} AND (
         (prev.credits_used > 0 AND (${jumped}))
         OR (@drops AND prev.credits_used > 0 AND ${dropped})
         OR (@newcomers AND coalesce(prev.credits_used, 0) <= 0 AND cur.credits_used >= @floor) ${surged})`,
    )
    .safeIntegers()
    .raw()
    .all(values) as FigureRow[];
  const found = present.map((row) => toFacts(periodKey, row));
  return drops ? [...found, ...goneTenants(merged.connection, values, all)] : found;
}

const NONE: EntryRange = { after: 0, last: 0 };
const ENTERED =
  'SELECT tenant_key FROM usage_entries WHERE entry_id > @after AND entry_id <= @last AND +period_key = @period';
const ENTERED_BEFORE = `SELECT tenant_key FROM usage_entries
   WHERE entry_id > @afterBefore AND entry_id <= @lastBefore AND +period_key = @period - 1`;

/** Whether so many of a period's tenants have entries that reading all of them is faster than looking each up. */
function isMost(connection: Connection, periodKey: number, ranges: readonly EntryRange[]): boolean {
  const enough = 2 * ranges.reduce((sum, { after, last }) => sum + last - after, 0);
  const { tenantKey } = tenantUsage;
  const some = query(connection).select({ tenantKey }).from(tenantUsage).where(eq(tenantUsage.periodKey, periodKey));
  const counted = query(connection).select({ tenants: count() }).from(some.limit(enough).as('some')).get();
  return (counted?.tenants ?? 0) < enough;
}

/** What had been used when the latest days began: between readings far apart as used evenly, to a credit too little. */
function recentReading({ later, passed }: RecentDays, readBy: (entry: string) => string): string {
  if (passed === 0) return readBy('@earlier');
  const after = later === null ? 'cur.credits_used' : readBy('@later');
  return `((1 - @passed) * ${readBy('@earlier')} + @passed * ${after} - 1)`;
}

/** Tenants with credits in the period before and no record in this one. */
function goneTenants(connection: Connection, values: { period: number; floor: bigint }, all: boolean): TenantFacts[] {
  const source = all
    ? 'tenant_usage prev'
    : `(${ENTERED_BEFORE}) e CROSS JOIN tenant_usage prev ON prev.tenant_key = e.tenant_key`;
  const rows = connection
    .prepare(
      `SELECT prev.tenant_key, NULL, NULL, 0, prev.credits_used, prev.request_count FROM ${source}
       WHERE prev.period_key = @period - 1 AND prev.credits_used >= @floor AND NOT EXISTS (
         SELECT 1 FROM tenant_usage cur WHERE cur.period_key = @period AND cur.tenant_key = prev.tenant_key)`,
    )
    .safeIntegers()
    .raw()
    .all(values) as FigureRow[];
  return rows.map((row) => toFacts(values.period, row));
}

type FigureRow = [bigint, bigint | null, bigint | null, bigint, bigint | null, bigint | null];

/** Returns what reads one tenant's figures of a period and the one before. */
export function createFactsReader(connection: Connection): (periodKey: number, tenantKey: number) => TenantFacts {
  const read = figuresReader(connection);
  return (periodKey, tenantKey) => {
    const current = read(periodKey, tenantKey) ?? null;
    const previous = read(periodKey - 1, tenantKey) ?? null;
    return { periodKey, tenantKey, current, previous, withdrawn: current?.withdrawn === true };
  };
}

function toFacts(periodKey: number, row: FigureRow): TenantFacts {
  const [tenantKey, credits, requests, withdrawn, ...before] = row;
  return {
    periodKey,
    tenantKey: Number(tenantKey),
    current: pair(credits, requests),
    previous: pair(...before),
    withdrawn: withdrawn === 1n,
  };
}
