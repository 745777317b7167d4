import type { Period, PeriodWindow } from '../../../core/period.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { ENTRY_KINDS } from '../../store/schema/keys.ts';

export interface UsageAsOf {
  workspace_id: string;
  tenant_id: string;
  period: string;
  period_start: string;
  period_end: string;
  credits_used: bigint;
  request_count: bigint;
  state: 'open' | 'settling' | 'closed';
  first_seen_at: string;
  /**
   * Time of the last change before the requested time. If the period was closed at that time, time of the last change
   * before the close.
   */
  changed_at: string;
  withdrawn: boolean;
  /** True when the period was closed at the requested time. The figures are then those of the close. */
  closed: boolean;
}

export interface AsOfFilters {
  workspaceId?: string | undefined;
  tenantId?: string | undefined;
  period?: Period | PeriodWindow | undefined;
}

/**
 * Returns the rows of `finance_usage` as they were at `at` (ISO-8601 UTC), computed from the entries. Each tenant and
 * period has the values of its last entry that was applied by that time. For a period that was closed at that time,
 * only entries before the close count. The position in the chain decides, not the time of an entry, because clocks may
 * have been set back: a workspace's state is the one after its last link dated `at` or earlier.
 */
export function usageAsOf(connection: LedgerDb, at: string, filters: AsOfFilters = {}): UsageAsOf[] {
  const { workspaceId, tenantId, period = {} } = filters;
  const { from, to } = typeof period === 'string' ? { from: period, to: period } : period;
  const wanted = [
    ...(workspaceId === undefined ? [] : ['w.workspace_id = :workspaceId']),
    ...(from === undefined ? [] : ['p.period >= :from']),
    ...(to === undefined ? [] : ['p.period <= :to']),
    ...(tenantId === undefined ? [] : ['t.tenant_id = :tenantId']),
  ];
  const rows = connection
    .prepare(
      `WITH last_link AS (
         SELECT workspace_key, max(seq) AS seq FROM (
           SELECT workspace_key, applied_seq AS seq FROM runs WHERE applied_seq IS NOT NULL AND finished_at <= :at
           UNION ALL
           SELECT p.workspace_key, event_seq FROM period_events JOIN periods p USING (period_key) WHERE at <= :at
           UNION ALL
           SELECT workspace_key, act_seq FROM acts WHERE at <= :at)
         GROUP BY workspace_key),
       boundary AS (
         SELECT workspace_key, seq, max(r.first_entry_id + r.entries - 1) AS entry_id
         FROM last_link JOIN runs r USING (workspace_key) WHERE r.applied_seq <= seq GROUP BY workspace_key),
       limits AS (
         SELECT p.period_key, CASE WHEN e.action = 'close' THEN e.last_entry_id ELSE b.entry_id END AS entry_id,
           e.action IS 'close' AS closed
         FROM periods p
         JOIN boundary b USING (workspace_key)
         LEFT JOIN period_events e ON e.event_seq = (
           SELECT max(x.event_seq) FROM period_events x WHERE x.period_key = p.period_key AND x.event_seq <= b.seq)),
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
    .all({ at, workspaceId, tenantId, from, to }) as (Omit<UsageAsOf, 'withdrawn' | 'closed'> & {
    withdrawn: bigint;
    closed: bigint;
  })[];
  return rows.map((row) => ({ ...row, withdrawn: row.withdrawn !== 0n, closed: row.closed !== 0n }));
}
