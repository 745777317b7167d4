import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { periodEvents } from '../../ledger/store/schema/billing-tables.ts';
import { eq, query } from '../../ledger/store/schema/drizzle.ts';
import { findPeriod } from '../../ledger/store/subjects.ts';
import { sumUsage } from '../../ledger/store/sum-usage.ts';

/** A month of a workspace: of a closed one the figures of its close count. */
export interface MonthKey {
  period_key: bigint;
  closed_seq: bigint | null;
}

export interface TenantMove {
  tenantId: string;
  credits: bigint;
  /** Of the month before; null without a record. */
  previous: bigint | null;
  change: bigint;
}

function tableOf(closedSeq: bigint | number | null | undefined): 'tenant_usage' | 'closed_usage' {
  return closedSeq === null || closedSeq === undefined ? 'tenant_usage' : 'closed_usage';
}

/** As `finance_period_totals` has them: the tenants that are not withdrawn, and the credits of all. */
export function monthFigures(
  connection: LedgerConnection,
  { period_key, closed_seq }: MonthKey,
): { tenants: number; credits: bigint } {
  const close =
    closed_seq === null
      ? undefined
      : query(connection)
          .select()
          .from(periodEvents)
          .where(eq(periodEvents.eventSeq, Number(closed_seq)))
          .get();
  const { tenants, creditsUsed } = close ?? sumUsage(connection, Number(period_key));
  return { tenants, credits: creditsUsed };
}

/** The tenants with the most credits of a month, the most first; of equal ones whom the ledger has known for longer. */
export function largestTenants(
  connection: LedgerConnection,
  { period_key, closed_seq }: MonthKey,
  limit: number,
): string[] {
  // Ids are looked up for these few only: a month may have a million tenants.
  return connection
    .prepare(
      `SELECT t.tenant_id FROM (
         SELECT tenant_key, credits_used FROM ${tableOf(closed_seq)} WHERE period_key = ? AND withdrawn = 0
         ORDER BY credits_used DESC, tenant_key LIMIT ?) u
       JOIN tenants t USING (tenant_key) ORDER BY u.credits_used DESC, u.tenant_key`,
    )
    .pluck()
    .all(period_key, limit) as string[];
}

/** The tenants whose credits moved most since the month before, as `finance_period_changes` has them, in the same order. */
export function largestMoves(
  connection: LedgerConnection,
  { period_key, closed_seq }: MonthKey,
  limit: number,
): TenantMove[] {
  const before = findPeriod(connection, Number(period_key) - 1)?.closedSeq;
  return connection
    .prepare(
      `SELECT t.tenant_id AS tenantId, m.credits, m.previous, m.change FROM (
         SELECT u.tenant_key AS tenant_key, u.credits_used AS credits, v.credits_used AS previous,
           u.credits_used - coalesce(v.credits_used, 0) AS change,
           abs(u.credits_used - coalesce(v.credits_used, 0)) AS size
         FROM ${tableOf(closed_seq)} u
         LEFT JOIN ${tableOf(before)} v ON v.period_key = u.period_key - 1 AND v.tenant_key = u.tenant_key
         WHERE u.period_key = :period_key
         UNION ALL
         SELECT v.tenant_key, 0, v.credits_used, -v.credits_used, abs(v.credits_used) FROM periods p
         JOIN ${tableOf(before)} v ON v.period_key = p.period_key - 1 AND v.withdrawn = 0
         LEFT JOIN ${tableOf(closed_seq)} u ON u.period_key = p.period_key AND u.tenant_key = v.tenant_key
         WHERE p.period_key = :period_key AND p.covered_run_key IS NOT NULL AND u.tenant_key IS NULL
         ORDER BY size DESC, tenant_key LIMIT :limit) m
       JOIN tenants t USING (tenant_key) ORDER BY m.size DESC, m.tenant_key`,
    )
    .safeIntegers()
    .all({ period_key, limit }) as TenantMove[];
}

/** The same of an open month, beside last month at the same point; none where nothing was read around that time. */
export function movesToDate(
  connection: LedgerConnection,
  { workspaceId, period }: { workspaceId: string; period: string },
  limit: number,
): TenantMove[] {
  return connection
    .prepare(
      `SELECT tenant_id AS tenantId, credits_used AS credits, previous_credits_same_point AS previous, credits_change AS change
       FROM finance_month_to_date WHERE workspace_id = ? AND period = ? AND credits_change <> 0
       ORDER BY abs(credits_change) DESC, tenant_id LIMIT ?`,
    )
    .safeIntegers()
    .all(workspaceId, period, limit) as TenantMove[];
}

/** What each day of a workspace's month brought, by `YYYY-MM-DD`; days without a change are left out. */
export function creditsByDay(
  connection: LedgerConnection,
  { period, period_key }: MonthKey & { period: string },
): { day: string; credits: bigint }[] {
  // Entries lie in the order of their runs, so those of the month are read at a stretch; by their index it takes four times as long.
  return connection
    .prepare(
      `WITH first AS MATERIALIZED (
         SELECT workspace_key, run_key FROM runs WHERE run_key = (SELECT min(first_run_key) FROM tenant_usage WHERE period_key = :period_key))
       SELECT day, sum(credits) AS credits FROM (
         SELECT substr(r.finished_at, 1, 10) AS day, (
           SELECT sum(e.credits_delta) FROM usage_entries e
           WHERE e.entry_id BETWEEN r.first_entry_id AND r.first_entry_id + r.entries - 1
             AND +e.period_key = :period_key) AS credits
         FROM first f JOIN runs r ON r.workspace_key = f.workspace_key AND r.run_key >= f.run_key
         WHERE r.first_entry_id IS NOT NULL AND r.finished_at < :period || '-32')
       WHERE credits IS NOT NULL GROUP BY day ORDER BY day`,
    )
    .safeIntegers()
    .all({ period, period_key }) as { day: string; credits: bigint }[];
}
