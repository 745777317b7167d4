import { AppError } from '../../core/errors.ts';
import type { LedgerDb } from '../store/ledger-db.ts';
import { asc, eq, isNotNull, query } from '../store/schema/drizzle.ts';
import { acts, workspaces } from '../store/schema/workspace-tables.ts';

/** Returns an SQL expression: 1 when the workspace is retired because another ledger reads it, else 0. */
export function isReadElsewhereSql(workspaceKey: string): string {
  return `EXISTS (SELECT 1 FROM workspaces z JOIN acts x ON x.act_seq = z.ended_seq
    WHERE z.workspace_key = ${workspaceKey} AND x.action = 'elsewhere')`;
}

export class WorkspaceRetiredError extends AppError {
  constructor(workspaceId: string, { action, at, actor, note }: WorkspaceEnd) {
    const where = action === 'elsewhere' ? '; another ledger reads it' : '';
    super(
      'workspace_ended',
      `workspace ${JSON.stringify(workspaceId)} was ended at ${at} by ${actor}: ${note}${where}`,
      {
        hint: 'remove it from the configuration, or run `usage-ledger workspace resume`',
      },
    );
  }
}

type WorkspaceEnd = typeof acts.$inferSelect;

/** Returns the act that retired a workspace; null when the workspace is not retired. */
export function findRetirement(connection: LedgerDb, workspaceKey: number): WorkspaceEnd | null {
  return readWorkspaceEnd(connection, workspaceKey)?.end ?? null;
}

/** Throws `WorkspaceRetiredError` for a retired workspace. Accepts null, which stands for no workspace. */
export function requireNotRetired(connection: LedgerDb, workspaceKey: number | null): void {
  const found = workspaceKey === null ? undefined : readWorkspaceEnd(connection, workspaceKey);
  if (found !== undefined) throw new WorkspaceRetiredError(found.workspaceId, found.end);
}

function readWorkspaceEnd(connection: LedgerDb, workspaceKey: number) {
  return query(connection)
    .select({ workspaceId: workspaces.workspaceId, end: acts })
    .from(workspaces)
    .innerJoin(acts, eq(acts.actSeq, workspaces.endedSeq))
    .where(eq(workspaces.workspaceKey, workspaceKey))
    .get();
}

/** Lists the ids of retired workspaces, in the order of their keys. */
export function retiredWorkspaces(connection: LedgerDb): string[] {
  const ended = query(connection).select().from(workspaces).where(isNotNull(workspaces.endedSeq));
  return ended
    .orderBy(asc(workspaces.workspaceKey))
    .all()
    .map(({ workspaceId }) => workspaceId);
}
