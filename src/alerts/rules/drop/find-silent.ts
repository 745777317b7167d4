import { isoTime } from '../../../core/clock.ts';
import type { MergedRun } from '../../../ledger/journal/runs/apply-run.ts';
import { and, eq, gt, lte, max, min, prepared, sql } from '../../../ledger/store/schema/drizzle.ts';
import { runs } from '../../../ledger/store/schema/run-tables.ts';
import type { Judging } from '../judging/judging.ts';
import type { Found } from '../rule.ts';
import { SILENT_DAYS } from './stopped.ts';

const DAY_MS = 86_400_000;
/** So often somebody who stopped is looked for: what has not changed is found in no run's entries. */
const STOPPED_EVERY_MS = 6 * 3_600_000;
/** A run that ends a little earlier in the day than the one that changed them last finds them all the same. */
const EARLY_MS = 1_800_000;

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
export function findSilent({ merged, curves }: Judging, periodKey: number): Found[] {
  const lastRunMs = curves.lastRunMs();
  if (lastRunMs === null) return [];
  const slotOf = (ms: number) => Math.floor(ms / STOPPED_EVERY_MS) * STOPPED_EVERY_MS;
  if (slotOf(merged.nowMs) <= slotOf(lastRunMs)) return [];
  const found = SILENT_DAYS.flatMap((days) => {
    // Looked at twice costs little; between two looks nobody is lost.
    const from = isoTime(slotOf(lastRunMs) - days * DAY_MS);
    return silentBetween(merged, periodKey, { from, until: isoTime(merged.nowMs + EARLY_MS - days * DAY_MS) });
  });
  return [...new Set(found)].map((tenantKey) => ({ periodKey, tenantKey }));
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
