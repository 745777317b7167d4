import { OPEN_ALERTS } from '../../alerts/book/open-alerts.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import type { financeFreshness, financeRuns } from '../../ledger/store/schema/finance-views.ts';

/** One row of `finance_freshness` with the last run and the number of open alerts. */
export type WorkspaceStatus = typeof financeFreshness.$inferSelect & {
  /** Null before the first run. */
  last_run: LastRun | null;
  open_alerts: number;
};

export type LastRun = Omit<typeof financeRuns.$inferSelect, 'workspace_id' | 'digest' | 'slot'>;

/** How every workspace of the ledger fares, by id. */
export function workspaceStatuses(connection: LedgerConnection): WorkspaceStatus[] {
  const runIdOf = connection
    .prepare(
      `SELECT run_id FROM runs JOIN workspaces USING (workspace_key) WHERE workspace_id = ?
       ORDER BY run_key DESC LIMIT 1`,
    )
    .pluck();
  const runOf = connection.prepare(
    `SELECT run_id, kind, status, from_period, to_period, started_at, finished_at, pages, records, entries, error_code,
       error_message
     FROM finance_runs WHERE run_id = ?`,
  );
  const openAlerts = connection
    .prepare(
      `SELECT count(*) FROM alerts a JOIN workspaces w ON w.workspace_key = a.workspace_key
       WHERE workspace_id = ? AND ${OPEN_ALERTS}`,
    )
    .pluck();
  const rows = connection
    .prepare(
      `SELECT workspace_id, last_complete_run_at, last_attempt_at, last_status, covers_from, covers_to
       FROM finance_freshness ORDER BY workspace_id`,
    )
    .all() as (typeof financeFreshness.$inferSelect)[];
  return rows.map((row) => ({
    ...row,
    last_run: (runOf.get(runIdOf.get(row.workspace_id)) as LastRun | undefined) ?? null,
    open_alerts: openAlerts.get(row.workspace_id) as number,
  }));
}

/** How many notifications are in which hands. */
export interface OutboxCounts {
  /** Due, or tried again later. */
  pending: number;
  /** These wait for a digest, and nothing is wrong with them. */
  held: number;
  /** Given up. */
  dead: number;
}

export function outboxCounts(connection: LedgerConnection): OutboxCounts {
  // Words, not parameters: only then does SQLite use the index that holds nothing but that state.
  const count = (state: keyof OutboxCounts): number =>
    connection.prepare(`SELECT count(*) FROM outbox WHERE state = '${state}'`).pluck().get() as number;
  return { pending: count('pending'), held: count('held'), dead: count('dead') };
}
