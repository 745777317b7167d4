import { AppError } from '../../core/errors.ts';
import type { LedgerConnection } from '../store/file/open.ts';

/** In SQL: the workspaces whose last move is an export, by key. */
export const MOVED_AWAY_SQL = `SELECT m.workspace_key FROM workspace_moves m WHERE m.action = 'export'
  AND m.move_key = (SELECT max(n.move_key) FROM workspace_moves n WHERE n.workspace_key = m.workspace_key)`;

/** The workspace was exported: its history goes on in another ledger. */
export class WorkspaceMovedError extends AppError {
  constructor(workspaceId: string) {
    super('workspace_moved', `workspace ${JSON.stringify(workspaceId)} has been exported from this ledger`, {
      hint: 'its history goes on where it was imported; `usage-ledger workspace keep` takes an export back that nobody has imported',
    });
  }
}

/** Whether the workspace was exported, and not kept after all: nothing of it may be published here any more. */
export function isMovedAway(connection: LedgerConnection, workspaceKey: number): boolean {
  const last = connection
    .prepare('SELECT action FROM workspace_moves WHERE workspace_key = ? ORDER BY move_key DESC LIMIT 1')
    .pluck()
    .get(workspaceKey);
  return last === 'export';
}

/** The ids of all such workspaces, in the order of their keys. */
export function movedAway(connection: LedgerConnection): string[] {
  return connection
    .prepare(`SELECT workspace_id FROM workspaces WHERE workspace_key IN (${MOVED_AWAY_SQL}) ORDER BY workspace_key`)
    .pluck()
    .all() as string[];
}
