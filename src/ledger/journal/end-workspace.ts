import { isoTime } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import type { LedgerDb } from '../store/ledger-db.ts';
import { eq, query, sql } from '../store/schema/drizzle.ts';
import { leases } from '../store/schema/run-tables.ts';
import { workspaces } from '../store/schema/workspace-tables.ts';
import { findWorkspace } from '../store/subjects.ts';
import { type ActLink, type ActRequest, appendAct } from './acts.ts';
import { endOfWorkspace, WorkspaceEndedError } from './ended.ts';
import { supersedeRunning } from './runs/claim-run.ts';

export interface ResumeRequest {
  workspaceId: string;
  /** Who ends it, or takes the end back; stored as given. */
  by: string;
  note: string;
  nowMs: number;
}

export interface EndRequest extends ResumeRequest {
  /** Another ledger goes on with the workspace and its alerts. */
  elsewhere: boolean;
}

export interface EndingWorkspace {
  workspaceId: string;
  workspaceKey: number;
}

/**
 * Ends a workspace: from then on this ledger takes no run, close or reopen of it. A run that is under way applies
 * nothing, because its fencing token is spent. `settle` ends its alerts in the same transaction; the link covers what
 * that changes. Throws AppError `unknown_workspace`, WorkspaceEndedError.
 */
export function endWorkspace<T>(
  connection: LedgerDb,
  request: EndRequest,
  settle: (workspace: EndingWorkspace) => T,
): ActLink & { settled: T } {
  return connection
    .transaction(() => {
      const { workspaceKey, workspaceId } = requireWorkspace(connection, request.workspaceId);
      const end = endOfWorkspace(connection, workspaceKey);
      if (end !== null) throw new WorkspaceEndedError(workspaceId, end);
      fenceOff(connection, workspaceKey, request.nowMs);
      const settled = settle({ workspaceId, workspaceKey });
      const action = request.elsewhere ? 'elsewhere' : 'end';
      return { ...endBy(connection, { ...request, workspaceKey, action }), settled };
    })
    .immediate();
}

/** Takes the end of a workspace back: it is read and closed here again. `settle` works as in `endWorkspace`. */
export function resumeWorkspace(
  connection: LedgerDb,
  request: ResumeRequest,
  settle: (workspace: EndingWorkspace) => void,
): ActLink {
  return connection
    .transaction(() => {
      const { workspaceKey, workspaceId } = requireWorkspace(connection, request.workspaceId);
      if (endOfWorkspace(connection, workspaceKey) === null) {
        throw new AppError('workspace_not_ended', `workspace ${JSON.stringify(workspaceId)} was not ended`, {
          hint: 'nothing is to be taken back: this ledger reads it as configured',
        });
      }
      settle({ workspaceId, workspaceKey });
      return endBy(connection, { ...request, workspaceKey, action: 'resume' });
    })
    .immediate();
}

function requireWorkspace(connection: LedgerDb, workspaceId: string): EndingWorkspace {
  const workspace = findWorkspace(connection, workspaceId);
  if (workspace !== undefined) return workspace;
  throw new AppError('unknown_workspace', `the ledger has nothing of workspace ${JSON.stringify(workspaceId)}`, {
    hint: '`usage-ledger status` says what the ledger holds',
  });
}

function fenceOff(connection: LedgerDb, workspaceKey: number, nowMs: number): void {
  query(connection)
    .update(leases)
    .set({ fencingToken: sql`${leases.fencingToken} + 1`, released: 1 })
    .where(eq(leases.workspaceKey, workspaceKey))
    .run();
  supersedeRunning(connection, workspaceKey, isoTime(nowMs));
}

function endBy(connection: LedgerDb, request: ActRequest): ActLink {
  const link = appendAct(connection, request);
  query(connection)
    .update(workspaces)
    .set({ endedSeq: request.action === 'resume' ? null : link.seq })
    .where(eq(workspaces.workspaceKey, request.workspaceKey))
    .run();
  return link;
}
