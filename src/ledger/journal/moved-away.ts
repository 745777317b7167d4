import { AppError } from '../../core/errors.ts';
import type { LedgerConnection } from '../store/file/open.ts';
import { query } from '../store/query.ts';
import { asc, desc, eq, sql } from '../store/schema/drizzle.ts';
import { workspaceMoves, workspaces } from '../store/schema/workspace-tables.ts';

/** In SQL: 1 when the last move of a workspace is an export, else 0, also for a key that is NULL. */
export function movedAwaySql(workspaceKey: string): string {
  return `coalesce((SELECT m.action FROM workspace_moves m WHERE m.workspace_key = ${workspaceKey}
    ORDER BY m.move_key DESC LIMIT 1) = 'export', 0)`;
}

/** The same as a condition on the rows of `workspaces`. */
export const isAway = sql.raw(movedAwaySql('workspaces.workspace_key'));

/** The workspace was exported: its history goes on in another ledger. */
export class WorkspaceMovedError extends AppError {
  constructor(workspaceId: string) {
    super('workspace_moved', `workspace ${JSON.stringify(workspaceId)} has been exported from this ledger`, {
      hint: 'its history goes on where it was imported; `usage-ledger workspace keep` takes an export back that nobody has imported',
    });
  }
}

/** Whether the workspace was exported, and not kept after all: nothing of it may be applied here any more. */
export function isMovedAway(connection: LedgerConnection, workspaceKey: number): boolean {
  const moves = query(connection).select().from(workspaceMoves).where(eq(workspaceMoves.workspaceKey, workspaceKey));
  return moves.orderBy(desc(workspaceMoves.moveKey)).limit(1).get()?.action === 'export';
}

/** Throws `WorkspaceMovedError` once the workspace was exported; null is none. */
export function requireHere(connection: LedgerConnection, workspaceKey: number | null): void {
  if (workspaceKey === null || !isMovedAway(connection, workspaceKey)) return;
  const row = query(connection).select().from(workspaces).where(eq(workspaces.workspaceKey, workspaceKey)).get();
  throw new WorkspaceMovedError(row?.workspaceId ?? '');
}

/** The ids of all such workspaces, in the order of their keys. */
export function movedAway(connection: LedgerConnection): string[] {
  const { workspaceId, workspaceKey } = workspaces;
  const away = query(connection).select({ workspaceId }).from(workspaces).where(isAway);
  return away
    .orderBy(asc(workspaceKey))
    .all()
    .map((workspace) => workspace.workspaceId);
}
