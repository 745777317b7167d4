import { countAlerts, sumOpen } from '../../alerts/track/open-alerts.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { perConnection, prepared, query } from '../../ledger/store/query.ts';
import { asc, desc, eq, inArray, sql } from '../../ledger/store/schema/drizzle.ts';
import { financeFreshness, financeRuns } from '../../ledger/store/schema/finance-views.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { workspaces } from '../../ledger/store/schema/workspace-tables.ts';

/** One row of `finance_freshness` with the last run and the number of open alerts. */
export type WorkspaceStatus = typeof financeFreshness.$inferSelect & {
  /** Null before the first run. */
  last_run: LastRun | null;
  open_alerts: number;
};

const { run_id, kind, status, from_period, to_period, started_at, finished_at, pages, records, entries } = financeRuns;
const { error_code, error_message } = financeRuns;
const LAST_RUN = {
  run_id,
  kind,
  status,
  from_period,
  to_period,
  started_at,
  finished_at,
  pages,
  records,
  entries,
  error_code,
  error_message,
};

export type LastRun = Pick<typeof financeRuns.$inferSelect, keyof typeof LAST_RUN>;

/** What `finance_freshness` would say of the workspaces that were ended. */
const ENDED = `SELECT w.workspace_id, r.finished_at AS last_complete_run_at, l.started_at AS last_attempt_at,
    l.status AS last_status, min(p.period) AS covers_from, max(p.period) AS covers_to
  FROM workspaces w
  LEFT JOIN runs r ON r.run_key = (SELECT max(run_key) FROM runs WHERE workspace_key = w.workspace_key AND status = 'applied')
  LEFT JOIN runs l ON l.run_key = (SELECT max(run_key) FROM runs WHERE workspace_key = w.workspace_key)
  LEFT JOIN periods p ON p.workspace_key = w.workspace_key AND p.covered_run_key IS NOT NULL
  WHERE w.ended_seq IS NOT NULL GROUP BY w.workspace_id ORDER BY w.workspace_id`;

/** How every workspace of the ledger fares, by id; those that were ended come last. */
export function workspaceStatuses(connection: LedgerConnection): WorkspaceStatus[] {
  const open = Map.groupBy(countAlerts(connection), ({ workspaceId }) => workspaceId);
  const lastRun = lastRunOf(connection);
  const read = query(connection).select().from(financeFreshness).orderBy(asc(financeFreshness.workspace_id)).all();
  const ended = connection.prepare(ENDED).all() as typeof read;
  return [...read, ...ended].map((row) => ({
    ...row,
    last_run: lastRun.get({ workspaceId: row.workspace_id }) ?? null,
    open_alerts: sumOpen(open.get(row.workspace_id) ?? []),
  }));
}

/** Open alerts about the ledger as a whole. */
export function openAlertsOfLedger(connection: LedgerConnection): number {
  return sumOpen(countAlerts(connection).filter(({ workspaceId }) => workspaceId === null));
}

const lastRunOf = prepared((db) => {
  const last = db
    .select({ runId: runs.runId })
    .from(runs)
    .innerJoin(workspaces, eq(workspaces.workspaceKey, runs.workspaceKey))
    .where(eq(workspaces.workspaceId, sql.placeholder('workspaceId')));
  return db
    .select(LAST_RUN)
    .from(financeRuns)
    .where(inArray(financeRuns.run_id, last.orderBy(desc(runs.runKey)).limit(1)));
});

/** How many messages wait, by what for. */
export interface OutboxCounts {
  /** On their way, or owed and not made yet: they go at once, with a group, or are tried again later. */
  pending: number;
  /** What is owed with a daily summary, and nothing is wrong with it. */
  held: number;
  /** Given up. */
  dead: number;
}

const selectCounts = perConnection((connection) => {
  const owed = 'SELECT count(*) FROM alert_notified WHERE owed IS NOT NULL AND delivery_key IS NULL AND given_up = 0';
  const isHeld = "goes_with IS 'digest' AND failures = 0";
  return connection.prepare(
    `SELECT (SELECT count(*) FROM deliveries WHERE due_at IS NOT NULL) + (${owed} AND NOT (${isHeld})) AS pending,
       (${owed} AND ${isHeld}) AS held, (SELECT count(*) FROM deliveries WHERE state = 'dead') AS dead`,
  );
});

export function outboxCounts(connection: LedgerConnection): OutboxCounts {
  return selectCounts(connection).get() as OutboxCounts;
}
