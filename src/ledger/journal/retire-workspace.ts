import { isoTime } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import type { LedgerDb } from '../store/ledger-db.ts';
import { eq, query, sql } from '../store/schema/drizzle.ts';
import { leases } from '../store/schema/run-tables.ts';
import { workspaces } from '../store/schema/workspace-tables.ts';
import { type ActLink, type ActRequest, appendAct } from './acts.ts';
import { findRetirement, WorkspaceRetiredError } from './retired-workspaces.ts';
import { supersedeRunning } from './runs/claim-run.ts';
import { requireWorkspace } from './unknown-workspace.ts';

const STATUS_HINT = 'run `usage-ledger status` to see the workspaces';

export interface ResumeWorkspaceRequest {
  workspaceId: string;
  /** The name of the person who retires or resumes the workspace, stored unchanged. */
  by: string;
  note: string;
  nowMs: number;
}

export interface RetireWorkspaceRequest extends ResumeWorkspaceRequest {
  /** True when another ledger continues to read the workspace and takes over its alerts. */
  elsewhere: boolean;
}

export interface RetiringWorkspace {
  workspaceId: string;
  workspaceKey: number;
}

/**
 * Retires a workspace: this ledger then accepts no run, close or reopen of the workspace. A run in progress applies
 * nothing, because its fencing token becomes invalid. `settle` is called in the same transaction, to end the
 * workspace's alerts; the digest of the link covers these changes. Throws UnknownWorkspaceError, WorkspaceRetiredError.
 */
export function retireWorkspace<T>(
  connection: LedgerDb,
  request: RetireWorkspaceRequest,
  settle: (workspace: RetiringWorkspace) => T,
): ActLink & { settled: T } {
  return connection
    .transaction(() => {
      const { workspaceKey, workspaceId } = requireWorkspace(connection, request.workspaceId, STATUS_HINT);
      const end = findRetirement(connection, workspaceKey);
      if (end !== null) throw new WorkspaceRetiredError(workspaceId, end);
      fenceOff(connection, workspaceKey, request.nowMs);
      const settled = settle({ workspaceId, workspaceKey });
      const action = request.elsewhere ? 'elsewhere' : 'end';
      return { ...endBy(connection, { ...request, workspaceKey, action }), settled };
    })
    .immediate();
}

/**
 * Reverses the retirement of a workspace: this ledger can read and close the workspace again. `settle` works as in
 * `retireWorkspace`.
 */
export function resumeWorkspace(
  connection: LedgerDb,
  request: ResumeWorkspaceRequest,
  settle: (workspace: RetiringWorkspace) => void,
): ActLink {
  return connection
    .transaction(() => {
      const { workspaceKey, workspaceId } = requireWorkspace(connection, request.workspaceId, STATUS_HINT);
      if (findRetirement(connection, workspaceKey) === null) {
        throw new AppError('workspace_not_ended', `workspace ${JSON.stringify(workspaceId)} was not ended`, {
          hint: 'no resume is needed: this ledger reads the workspace as configured',
        });
      }
      settle({ workspaceId, workspaceKey });
      return endBy(connection, { ...request, workspaceKey, action: 'resume' });
    })
    .immediate();
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
