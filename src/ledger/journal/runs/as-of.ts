import type { LedgerConnection } from '../../store/file/open.ts';
import { ENTRY_KINDS } from '../../store/schema/keys.ts';

/** What the ledger said of one tenant in one period at some time. */
export interface UsageAsOf {
  workspace_id: string;
  tenant_id: string;
  period: string;
  period_start: string;
  period_end: string;
  credits_used: bigint;
  request_count: bigint;
  /** What it was then. */
  state: 'open' | 'settling' | 'closed';
  first_seen_at: string;
  /** The last change by then, or by the close. */
  changed_at: string;
  withdrawn: boolean;
  /** Whether the period was closed then, and these are the figures of that close. */
  closed: boolean;
}

/** What is asked for, byte for byte; all of it when absent. */
export interface AsOfFilters {
  workspaceId?: string | undefined;
  tenantId?: string | undefined;
  period?: string | undefined;
}

/**
 * What `finance_usage` said at `at` (ISO-8601 UTC), from the entries: for each key its last entry that had been
 * published by then; for a period that was closed then, its last entry before that close.
 */
export function usageAsOf(connection: LedgerConnection, at: string, filters: AsOfFilters = {}): UsageAsOf[] {
  const { workspaceId, tenantId, period } = filters;
  const wanted = [
    ...(workspaceId === undefined ? [] : ['w.workspace_id = :workspaceId']),
    ...(period === undefined ? [] : ['p.period = :period']),
    ...(tenantId === undefined ? [] : ['t.tenant_id = :tenantId']),
  ];
  const rows = connection
    .prepare(
      `WITH boundary AS (
         -- The chain is the order of publishing; clocks may have been set back in between.
         SELECT coalesce(max(first_entry_id + entries - 1), 0) AS entry_id FROM runs
         WHERE applied_seq <= (SELECT max(applied_seq) FROM runs WHERE finished_at <= :at)),
       latest_event AS (
         SELECT period_key, max(event_seq) AS event_seq FROM period_events WHERE at <= :at GROUP BY period_key),
       limits AS (
         SELECT p.period_key,
           CASE WHEN e.action = 'close' THEN e.last_entry_id ELSE (SELECT entry_id FROM boundary) END AS entry_id,
           e.action IS 'close' AS closed
         FROM periods p
         LEFT JOIN latest_event l USING (period_key)
         LEFT JOIN period_events e USING (event_seq)),
       latest AS (
         SELECT u.period_key, u.tenant_key, max(u.entry_id) AS entry_id, min(u.entry_id) AS first_entry_id, m.closed
         FROM workspaces w
         JOIN periods p USING (workspace_key)
         JOIN limits m USING (period_key)
         ${tenantId === undefined ? '' : 'JOIN tenants t ON t.workspace_key = w.workspace_key'}
         JOIN usage_entries u ON u.period_key = p.period_key AND u.entry_id <= m.entry_id
           ${tenantId === undefined ? '' : 'AND u.tenant_key = t.tenant_key'}
         ${wanted.length === 0 ? '' : `WHERE ${wanted.join(' AND ')}`}
         GROUP BY u.period_key, u.tenant_key)
       SELECT w.workspace_id, t.tenant_id, p.period, p.period_start, p.period_end, u.credits_after AS credits_used,
         u.requests_after AS request_count,
         CASE WHEN l.closed THEN 'closed' WHEN p.period_end >= :at THEN 'open' ELSE 'settling' END AS state,
         f.finished_at AS first_seen_at, c.finished_at AS changed_at, u.kind = ${ENTRY_KINDS.withdrawn} AS withdrawn,
         l.closed
       FROM latest l
       JOIN usage_entries u USING (entry_id)
       JOIN usage_entries o ON o.entry_id = l.first_entry_id
       JOIN runs f ON f.run_key = o.run_key
       JOIN runs c ON c.run_key = u.run_key
       JOIN periods p ON p.period_key = l.period_key
       JOIN workspaces w USING (workspace_key)
       JOIN tenants t ON t.tenant_key = l.tenant_key
       ORDER BY w.workspace_id, p.period, t.tenant_id`,
    )
    .safeIntegers()
    .all({ at, workspaceId, tenantId, period }) as (Omit<UsageAsOf, 'withdrawn' | 'closed'> & {
    withdrawn: bigint;
    closed: bigint;
  })[];
  return rows.map((row) => ({ ...row, withdrawn: row.withdrawn !== 0n, closed: row.closed !== 0n }));
}
