import type { LedgerConnection } from '../../store/file/open.ts';

/** The first published run of a workspace. */
export interface FirstRun {
  /** When it began, ISO-8601 UTC, if it read the whole history up to then; null where somebody may have asked for a part. */
  wholeReadAt: string | null;
}

/** Null when nothing has been published. */
export function firstRun(connection: LedgerConnection, workspaceId: string): FirstRun | null {
  const found = connection
    .prepare(
      `SELECT iif(kind = 'manual', NULL, started_at) AS wholeReadAt
       FROM workspaces JOIN runs ON run_key = first_run_key WHERE workspace_id = ?`,
    )
    .get(workspaceId);
  return (found as FirstRun | undefined) ?? null;
}
