import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import type { MergedRun } from '../../ledger/journal/runs/apply-run.ts';
import { prepared } from '../../ledger/store/query.ts';
import { and, eq, gt, lte, max, min, sql } from '../../ledger/store/schema/drizzle.ts';
import { ENTRY_KINDS } from '../../ledger/store/schema/keys.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { findPeriod } from '../../ledger/store/subjects.ts';
import type { Curves } from '../history/curves.ts';
import type { UsageFigures } from '../rules/rule.ts';
import { SILENT_DAYS } from '../rules/stopped.ts';
import type { PeriodFacts } from './period-facts.ts';

const DAY_MS = 86_400_000;
/** So often somebody who stopped is looked for: what has not changed is found in no run's entries. */
const STOPPED_EVERY_MS = 6 * 3_600_000;
/** A run that ends a little earlier in the day than the one that changed them last finds them all the same. */
const EARLY_MS = 1_800_000;
/** Doubles need slack, so that no filter hides what the exact rule finds. */
const SLACK = 0.999999;

/** A key of the run's entries, and its figures before. */
export interface EnteredKey {
  periodKey: number;
  tenantKey: number;
  before: UsageFigures;
}

/** The entries of a run of one kind. */
export function entriesOfKind(merged: MergedRun, kind: 'decreased' | 'withdrawn'): EnteredKey[] {
  // Looking for them reads every entry of the run.
  if (merged.counts[kind] === 0) return [];
  const rows = merged.connection
    .prepare(
      `SELECT period_key, tenant_key, credits_after - credits_delta, requests_after - requests_delta
       FROM usage_entries WHERE entry_id > ? AND kind = ?`,
    )
    .safeIntegers()
    .raw()
    .all(merged.lastEntryIdBefore, ENTRY_KINDS[kind]) as [bigint, bigint, bigint, bigint][];
  return rows.map(([periodKey, tenantKey, credits, requests]) => ({
    ...{ periodKey: Number(periodKey), tenantKey: Number(tenantKey), before: { credits, requests } },
  }));
}

/** Tenants of a period, settled before this run and not closed, that this run has brought away from what it settled at. */
export function findRestated(merged: MergedRun, curves: Curves, periodKey: number, floor: bigint): number[] {
  const settledEntry = curves.settledEntry(periodKey);
  if (settledEntry === null || findPeriod(merged.connection, periodKey)?.closedSeq !== null) return [];
  const settled = curves.isHere
    ? `coalesce((SELECT s.credits_after FROM usage_entries s WHERE s.period_key = e.period_key
         AND s.tenant_key = e.tenant_key AND s.entry_id <= @settledEntry ORDER BY s.entry_id DESC LIMIT 1), 0)`
    : 'NULL';
  return merged.connection
    .prepare(
      `SELECT tenant_key FROM (
         SELECT e.tenant_key, e.credits_after, ${settled} AS settled FROM usage_entries e
         WHERE e.entry_id > @after AND e.entry_id <= @last AND +e.period_key = @periodKey AND @settledEntry IS NOT NULL)
       WHERE settled IS NULL
         OR (abs(credits_after - settled) >= @floor AND abs(credits_after - settled) * 100.0 >= settled * ${SLACK})`,
    )
    .pluck()
    .all({ ...merged.changed.get(periodKey), periodKey, settledEntry, floor }) as number[];
}

/** Tenants of a settled period that may have grown over three months. */
export function findTrends(connection: Database.Database, { periodKey }: PeriodFacts, floor: bigint): number[] {
  return connection
    .prepare(
      `SELECT cur.tenant_key FROM tenant_usage cur
       JOIN tenant_usage prev ON prev.period_key = @periodKey - 1 AND prev.tenant_key = cur.tenant_key
       JOIN tenant_usage first ON first.period_key = @periodKey - 3 AND first.tenant_key = cur.tenant_key
       WHERE cur.period_key = @periodKey AND first.credits_used > 0 AND cur.credits_used > prev.credits_used * 0.9
         AND cur.credits_used >= 1.5 * first.credits_used AND cur.credits_used >= first.credits_used * 0.9 + @floor`,
    )
    .pluck()
    .all({ periodKey, floor }) as number[];
}

/** Tenants whose budget may have come to something that is told. */
export function findBudgeted(merged: MergedRun, periodKey: number, least: bigint): number[] {
  const range = merged.changed.get(periodKey);
  if (range === undefined) return [];
  return merged.connection
    .prepare(
      `SELECT cur.tenant_key FROM usage_entries e
       JOIN tenant_usage cur ON cur.period_key = e.period_key AND cur.tenant_key = e.tenant_key
       WHERE e.entry_id > @after AND e.entry_id <= @last AND +e.period_key = @periodKey AND cur.credits_used >= @least`,
    )
    .pluck()
    .all({ ...range, periodKey, least }) as number[];
}

const { placeholder } = sql;

const runsFinishedBetween = prepared((db) => {
  const isApplied = and(eq(runs.workspaceKey, placeholder('workspaceKey')), eq(runs.status, 'applied').inlineParams());
  const isBetween = and(gt(runs.finishedAt, placeholder('from')), lte(runs.finishedAt, placeholder('until')));
  const ends = db.select({ first: min(runs.runKey), last: max(runs.runKey) });
  return ends.from(runs).where(and(isApplied, isBetween));
});

/**
 * Tenants that have been silent for just as long as one is missed after, by the first run after a time of day that comes four
 * times a day. Their last record is of this period, or of the one before when this one has nothing yet.
 */
export function findSilent(merged: MergedRun, curves: Curves, periodKey: number): number[] {
  const lastRunMs = curves.lastRunMs();
  if (lastRunMs === null) return [];
  const slotOf = (ms: number) => Math.floor(ms / STOPPED_EVERY_MS) * STOPPED_EVERY_MS;
  if (slotOf(merged.nowMs) <= slotOf(lastRunMs)) return [];
  const found = SILENT_DAYS.flatMap((days) => {
    // Looked at twice costs little; between two looks nobody is lost.
    const from = isoTime(slotOf(lastRunMs) - days * DAY_MS);
    return silentBetween(merged, periodKey, { from, until: isoTime(merged.nowMs + EARLY_MS - days * DAY_MS) });
  });
  return [...new Set(found)];
}

function silentBetween(merged: MergedRun, periodKey: number, times: { from: string; until: string }): number[] {
  const { connection, run } = merged;
  const ends = runsFinishedBetween(connection).get({ workspaceKey: run.workspaceKey, ...times });
  const { first = null, last = null } = ends ?? {};
  if (first === null || last === null) return [];
  return connection
    .prepare(
      `SELECT tenant_key FROM tenant_usage
       WHERE period_key = @periodKey AND changed_run_key BETWEEN @first AND @last AND withdrawn = 0 AND credits_used > 0
       UNION ALL
       SELECT prev.tenant_key FROM tenant_usage prev
       WHERE prev.period_key = @periodKey - 1 AND prev.changed_run_key BETWEEN @first AND @last AND prev.withdrawn = 0
         AND prev.credits_used > 0 AND NOT EXISTS (SELECT 1 FROM tenant_usage cur
           WHERE cur.period_key = @periodKey AND cur.tenant_key = prev.tenant_key
             AND (cur.credits_used > 0 OR cur.withdrawn = 1))`,
    )
    .pluck()
    .all({ periodKey, first, last }) as number[];
}
