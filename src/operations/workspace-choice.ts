import type { Config, WorkspaceConfig } from '../config/types.ts';
import { AppError, InputError } from '../core/errors.ts';
import { ledgerWorkspaces } from '../reports/queries/usage.ts';
import type { Scope } from './operation.ts';

/**
 * Returns the configured workspace with the id `id`. Without an id, returns the only configured workspace. Throws
 * InputError if there is no such workspace, or several without an id.
 */
export function chooseWorkspace({ workspaces }: Config, id: string | undefined): WorkspaceConfig {
  const known = workspaces.map((workspace) => workspace.id);
  const [only] = workspaces;
  if (id === undefined && only !== undefined && known.length === 1) return only;
  if (id === undefined) {
    throw new InputError((nameOf) => `${nameOf('workspace')} is required: several are configured`, oneOf(known));
  }
  const found = workspaces.find((workspace) => workspace.id === id);
  if (found !== undefined) return found;
  throw new InputError((nameOf) => `${nameOf('workspace')} ${JSON.stringify(id)} is not configured`, oneOf(known));
}

/**
 * Throws InputError for a workspace that is neither configured nor in the ledger, such as a misspelt id. If the id
 * comes from a file, `place` says where in the file it is.
 */
export function requireKnownWorkspace(
  { context, connection }: Pick<Scope, 'context' | 'connection'>,
  id: string | undefined,
  place?: string,
): void {
  if (id === undefined) return;
  const configured = context.config.workspaces.map((workspace) => workspace.id);
  const known = new Set([...configured, ...ledgerWorkspaces(connection)]);
  if (known.has(id)) return;
  throw new InputError(
    (nameOf) => `${place ?? nameOf('workspace')} ${JSON.stringify(id)} is unknown`,
    oneOf([...known]),
  );
}

function oneOf(ids: readonly string[]): string {
  return `use one of ${ids.map((id) => JSON.stringify(id)).join(', ')}`;
}

export function unknownPeriod(period: string, workspaceId: string): AppError {
  const message = `the ledger has no data for ${period} in workspace ${JSON.stringify(workspaceId)}`;
  return new AppError('unknown_period', message, { hint: 'see the covered months in `usage-ledger status`' });
}
