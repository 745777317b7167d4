import type { LedgerDb } from '../../store/ledger-db.ts';
import { eq, query } from '../../store/schema/drizzle.ts';
import { runs } from '../../store/schema/run-tables.ts';
import { workspaces } from '../../store/schema/workspace-tables.ts';

interface FirstRun {
  /**
   * Start of the workspace's first applied run, ISO-8601 UTC, if that run read the whole history. Null if that run was
   * a manual run, which may have read only a part.
   */
  wholeReadAt: string | null;
}

/** Finds the first applied run of a workspace; null when no run has been applied. */
export function firstRun(connection: LedgerDb, workspaceId: string): FirstRun | null {
  const { kind, startedAt } = runs;
  const found = query(connection)
    .select({ kind, startedAt })
    .from(workspaces)
    .innerJoin(runs, eq(runs.runKey, workspaces.firstRunKey))
    .where(eq(workspaces.workspaceId, workspaceId))
    .get();
  return found === undefined ? null : { wholeReadAt: found.kind === 'manual' ? null : found.startedAt };
}

export interface LargestChange {
  tenant_id: string;
  period: string;
  kind: string;
  credits_delta: bigint;
  credits_after: bigint;
}

/** Returns the entries of a run that change credits the most, at most 20 entries. */
export function largestChangesOfRun(connection: LedgerDb, runId: string): LargestChange[] {
  return connection
    .prepare(
      `SELECT tenant_id, period, kind, credits_delta, credits_after FROM finance_history
       WHERE run_id = ? ORDER BY abs(credits_delta) DESC, entry_id LIMIT 20`,
    )
    .safeIntegers()
    .all(runId) as LargestChange[];
}

/**
 * Returns, by workspace id, the number of requests that the latest applied run made (pages times walks, without
 * retries). Ignores runs of kind `reconcile`.
 */
export function requestsOfLatestRuns(connection: LedgerDb): Map<string, number> {
  const rows = connection
    .prepare(
      `SELECT w.workspace_id AS id, r.pages * max(1, (SELECT count(*) FROM walks x WHERE x.run_key = r.run_key)) AS requests
       FROM workspaces w JOIN runs r ON r.run_key = (
         SELECT max(l.run_key) FROM runs l
         WHERE l.workspace_key = w.workspace_key AND l.status = 'applied' AND l.kind <> 'reconcile')`,
    )
    .all() as { id: string; requests: number }[];
  return new Map(rows.map(({ id, requests }) => [id, requests]));
}
