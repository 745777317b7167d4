import { AppError } from '../../core/errors.ts';
import type { LedgerDb } from '../store/ledger-db.ts';
import { asc, eq, isNotNull, query } from '../store/schema/drizzle.ts';
import { acts, workspaces } from '../store/schema/workspace-tables.ts';

/** In SQL: 1 when another ledger reads the workspace in the place of this one, else 0. */
export function elsewhereSql(workspaceKey: string): string {
  return `EXISTS (SELECT 1 FROM workspaces z JOIN acts x ON x.act_seq = z.ended_seq
    WHERE z.workspace_key = ${workspaceKey} AND x.action = 'elsewhere')`;
}

export class WorkspaceEndedError extends AppError {
  constructor(workspaceId: string, { action, at, actor, note }: WorkspaceEnd) {
    const where = action === 'elsewhere' ? '; another ledger reads it' : '';
    super(
      'workspace_ended',
      `workspace ${JSON.stringify(workspaceId)} was ended at ${at} by ${actor}: ${note}${where}`,
      {
        hint: 'take it out of the configuration, or take the end back with `usage-ledger workspace resume`',
      },
    );
  }
}

type WorkspaceEnd = typeof acts.$inferSelect;

/** The end of a workspace that this ledger no longer reads; null while it reads it. */
export function endOfWorkspace(connection: LedgerDb, workspaceKey: number): WorkspaceEnd | null {
  return endOf(connection, workspaceKey)?.end ?? null;
}

/** Throws `WorkspaceEndedError` for a workspace that this ledger no longer reads; null is none. */
export function requireRead(connection: LedgerDb, workspaceKey: number | null): void {
  const found = workspaceKey === null ? undefined : endOf(connection, workspaceKey);
  if (found !== undefined) throw new WorkspaceEndedError(found.workspaceId, found.end);
}

function endOf(connection: LedgerDb, workspaceKey: number) {
  return query(connection)
    .select({ workspaceId: workspaces.workspaceId, end: acts })
    .from(workspaces)
    .innerJoin(acts, eq(acts.actSeq, workspaces.endedSeq))
    .where(eq(workspaces.workspaceKey, workspaceKey))
    .get();
}

/** The ids of the workspaces that this ledger no longer reads, in the order of their keys. */
export function endedWorkspaces(connection: LedgerDb): string[] {
  const ended = query(connection).select().from(workspaces).where(isNotNull(workspaces.endedSeq));
  return ended
    .orderBy(asc(workspaces.workspaceKey))
    .all()
    .map(({ workspaceId }) => workspaceId);
}
