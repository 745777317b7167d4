import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { eq } from '../../store/schema/drizzle.ts';
import { runs } from '../../store/schema/run-tables.ts';
import { workspaces } from '../../store/schema/workspace-tables.ts';

/** The first applied run of a workspace. */
export interface FirstRun {
  /** When it began, ISO-8601 UTC, if it read the whole history up to then; null where somebody may have asked for a part. */
  wholeReadAt: string | null;
}

/** Null when nothing has been applied. */
export function firstRun(connection: LedgerConnection, workspaceId: string): FirstRun | null {
  const { kind, startedAt } = runs;
  const found = query(connection)
    .select({ kind, startedAt })
    .from(workspaces)
    .innerJoin(runs, eq(runs.runKey, workspaces.firstRunKey))
    .where(eq(workspaces.workspaceId, workspaceId))
    .get();
  return found === undefined ? null : { wholeReadAt: found.kind === 'manual' ? null : found.startedAt };
}
