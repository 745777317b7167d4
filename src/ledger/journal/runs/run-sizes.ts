import type { LedgerConnection } from '../../store/file/open.ts';

/** Requests that the latest applied run of each workspace made, reconciliations and retries left out. */
export function requestsOfRuns(connection: LedgerConnection): Map<string, number> {
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
