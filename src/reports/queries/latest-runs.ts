import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { whereClause } from '../../ledger/store/where.ts';

export interface LatestRun {
  run_id: string;
  workspace_id: string;
  kind: string;
  status: string;
  from_period: string | null;
  to_period: string | null;
  started_at: string;
  finished_at: string | null;
  pages: number;
  records: number;
  entries: number;
  error_code: string | null;
  error_message: string | null;
}

export interface LatestRunsRequest {
  workspaceId?: string | undefined;
  status?: string | undefined;
  offset: number;
  limit: number;
}

/** Returns one page of the runs, the latest first. */
export function latestRuns(
  connection: LedgerDb,
  { workspaceId, status, offset, limit }: LatestRunsRequest,
): LatestRun[] {
  const { where, values } = whereClause({ 'w.workspace_id': workspaceId, 'r.status': status });
  // Selects the runs of the page first, because the view `finance_runs` does several look-ups for each run.
  const keys = `SELECT r.run_id FROM runs r JOIN workspaces w USING (workspace_key) ${where} ORDER BY r.run_key DESC LIMIT ? OFFSET ?`;
  return connection
    .prepare(
      `SELECT f.run_id, f.workspace_id, f.kind, f.status, f.from_period, f.to_period, f.started_at, f.finished_at,
         f.pages, f.records, f.entries, f.error_code, f.error_message
       FROM finance_runs f JOIN runs o ON o.run_id = f.run_id WHERE f.run_id IN (${keys}) ORDER BY o.run_key DESC`,
    )
    .all(...values, limit, offset) as LatestRun[];
}
