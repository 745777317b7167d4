import type { LedgerConnection } from '../file/open.ts';

/** Whether any run of this workspace has been published. */
export function hasPublished(connection: LedgerConnection, workspaceId: string): boolean {
  const first = connection
    .prepare('SELECT 1 FROM workspaces WHERE workspace_id = ? AND first_run_key IS NOT NULL')
    .get(workspaceId);
  return first !== undefined;
}
