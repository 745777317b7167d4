import { AppError } from '../../core/errors.ts';
import type { LedgerDb } from '../store/ledger-db.ts';
import { findWorkspace } from '../store/subjects.ts';

/** The ledger, or the configuration, has no workspace with this id. */
export class UnknownWorkspaceError extends AppError {
  constructor(workspaceId: string, place: 'ledger' | 'configuration', hint: string) {
    const id = JSON.stringify(workspaceId);
    const message =
      place === 'ledger' ? `the ledger has no data for workspace ${id}` : `workspace ${id} is not configured`;
    super('unknown_workspace', message, { hint });
  }
}

/** Returns the row of a workspace. Throws UnknownWorkspaceError with `hint` when the ledger has none. */
export function requireWorkspace(connection: LedgerDb, workspaceId: string, hint: string) {
  const workspace = findWorkspace(connection, workspaceId);
  if (workspace === undefined) throw new UnknownWorkspaceError(workspaceId, 'ledger', hint);
  return workspace;
}
