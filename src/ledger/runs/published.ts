import type { LedgerConnection } from '../file/open.ts';

/** Whether any run of this workspace has been published. */
export function hasPublished(connection: LedgerConnection, workspaceId: string): boolean {
  const first = connection
    .prepare('SELECT 1 FROM workspaces WHERE workspace_id = ? AND first_run_key IS NOT NULL')
    .get(workspaceId);
  return first !== undefined;
}

/**
 * When the first published run of this workspace began, ISO-8601 UTC, if it read the whole history up to then; null when
 * nothing has been published, or only a part was asked for first.
 */
export function firstWholeReadAt(connection: LedgerConnection, workspaceId: string): string | null {
  const began = connection
    .prepare(
      `SELECT started_at FROM workspaces JOIN runs ON run_key = first_run_key
       WHERE workspace_id = ? AND from_period IS NULL AND to_period >= substr(started_at, 1, 7)`,
    )
    .pluck()
    .get(workspaceId);
  return (began as string | undefined) ?? null;
}
