import type Database from 'better-sqlite3';
import { figuresReader } from '../../ledger/store/key-figures.ts';
import { pair } from '../book/alert-figures.ts';
import type { UsageFigures } from '../rules/rule.ts';
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

/** Which tenants of a period are looked at: those that a run changed in it or in the period before, or all. */
export type Scope = { changedSince: number } | 'all';

/** Ratios and fractions are doubles here; this much slack keeps the filter from hiding what the exact rule finds. */
const SLACK = 0.999999;

/** Four recent days that stand out are more than this part of the month before, see `judgePace`. */
const SURGE_PART = 1.3 / 8;

/**
 * The tenants of a period that a rule may hold for. SQLite sorts out all but a few by conditions that each rule implies;
 * the rules themselves decide. `recentFrom` is where four days ago lies where a pace can be judged, else null.
 */
export function findCandidates(
  connection: Connection,
  facts: PeriodFacts,
  settings: TenantSettings,
  scope: Scope,
  recentFrom: RecentDays | null,
): TenantFacts[] {
  const { phase } = facts;
  const values = {
    period: facts.periodKey,
    elapsed: (phase.over ? 1 : phase.elapsedMs / phase.lengthMs) * SLACK,
    ratio: settings.leastRatio,
    least: settings.leastRatio * SLACK,
    floor: settings.leastFloor,
    increase: settings.leastIncrease ?? 0,
    // Where days are compared, a month may weigh more or less than the one before.
    shortest: settings.perDay ? Math.min(1, facts.daysAgainstPrevious) : 1,
    longest: settings.perDay ? Math.max(1, facts.daysAgainstPrevious) : 1,
    newcomers: facts.previousComplete && !facts.previousIsFirst ? 1 : 0,
    settled: phase.settled ? 1 : 0,
    surge: SURGE_PART * SLACK,
    earlier: recentFrom?.earlier ?? 0,
    later: recentFrom?.later ?? 0,
    passed: recentFrom?.passed ?? 0,
    since: scope === 'all' ? 0 : scope.changedSince,
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
  const changed =
    '(SELECT DISTINCT tenant_key FROM usage_entries WHERE entry_id > @since AND +period_key IN (@period, @period - 1)) e';
  const source =
    scope === 'all' ? 'tenant_usage cur' : `${changed} CROSS JOIN tenant_usage cur ON cur.tenant_key = e.tenant_key`;
  const present = connection
    .prepare(
      `SELECT cur.tenant_key, cur.credits_used, cur.request_count, cur.withdrawn, prev.credits_used, prev.request_count
       FROM ${source}
       LEFT JOIN tenant_usage prev ON prev.period_key = @period - 1 AND prev.tenant_key = cur.tenant_key
       WHERE cur.period_key = @period AND cur.withdrawn = 0 AND (
         (prev.credits_used > 0 AND (${jumped}))
         OR (@settled AND prev.credits_used > 0 AND ${dropped})
         OR (@newcomers AND coalesce(prev.credits_used, 0) <= 0 AND cur.credits_used >= @floor) ${surged})`,
    )
    .safeIntegers()
    .raw()
    .all(values) as FigureRow[];
  const found = present.map((row) => toFacts(facts.periodKey, row));
  return phase.settled ? [...found, ...goneTenants(connection, values, scope === 'all' ? '' : changed)] : found;
}

/** What had been used when the latest days began: between readings far apart as used evenly, to a credit too little. */
function recentReading({ later, passed }: RecentDays, readBy: (entry: string) => string): string {
  if (passed === 0) return readBy('@earlier');
  const after = later === null ? 'cur.credits_used' : readBy('@later');
  return `((1 - @passed) * ${readBy('@earlier')} + @passed * ${after} - 1)`;
}

/** Tenants with credits in the period before and no record in this one. */
function goneTenants(
  connection: Connection,
  values: { period: number; floor: bigint; since: number },
  changed: string,
): TenantFacts[] {
  const source =
    changed === '' ? 'tenant_usage prev' : `${changed} CROSS JOIN tenant_usage prev ON prev.tenant_key = e.tenant_key`;
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
