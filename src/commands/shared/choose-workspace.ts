import type { Config, WorkspaceConfig } from '../../config/types.ts';
import { AppError, UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { nearTenants, workspacesOfTenant } from '../../reports/queries/tenants.ts';
import { ledgerWorkspaces } from '../../reports/queries/usage.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliContext, EXIT } from './cli-context.ts';

export function chooseWorkspace(config: Config, id: string | undefined): WorkspaceConfig {
  const known = config.workspaces.map((workspace) => workspace.id);
  const [only] = config.workspaces;
  if (id === undefined && only !== undefined && known.length === 1) return only;
  if (id === undefined) throw new UsageError('--workspace is needed: several are configured', oneOf(known));
  const found = config.workspaces.find((workspace) => workspace.id === id);
  if (found !== undefined) return found;
  throw new UsageError(`--workspace ${JSON.stringify(id)} is not configured`, oneOf(known));
}

/** Refuses a workspace that neither the configuration nor the ledger knows: a misspelt one would find nothing. */
export function requireKnownWorkspace(context: Context, id: string | undefined, where = '--workspace'): void {
  if (id === undefined) return;
  const configured = context.config.workspaces.map((workspace) => workspace.id);
  const known = new Set([...configured, ...ledgerWorkspaces(context.reader().connection)]);
  if (!known.has(id)) throw new UsageError(`${where} ${JSON.stringify(id)} is not known`, oneOf([...known]));
}

function oneOf(ids: readonly string[]): string {
  return `use one of ${ids.map((id) => JSON.stringify(id)).join(', ')}`;
}

export function unknownPeriod(period: string, workspaceId: string): AppError {
  const message = `the ledger has no data for ${period} in workspace ${JSON.stringify(workspaceId)}`;
  return new AppError('unknown_period', message, { hint: 'run `usage-ledger status` to see the covered periods' });
}

/**
 * For a tenant that was asked for and is not there: says which ones may have been meant, or which workspace has it. One that no
 * workspace has is a failure: a script that misspells it must not take nothing for an answer.
 */
export function noteNearTenants(
  cli: CliContext,
  connection: LedgerDb,
  asked: { tenantId: string | undefined; workspaceId: string | undefined },
): void {
  const { tenantId, workspaceId } = asked;
  if (tenantId === undefined) return;
  const known = workspacesOfTenant(connection, tenantId);
  if (known.length > 0) {
    if (workspaceId === undefined || known.includes(workspaceId)) return;
    cli.note(`  ${quoted(tenantId)} is a tenant of ${known.slice(0, 3).map(inertText).join(', ')}`);
    return;
  }
  cli.exitCode = EXIT.failed;
  const near = nearTenants(connection, tenantId, workspaceId).map(({ tenant_id, display_name }) =>
    display_name === null ? quoted(tenant_id) : `${quoted(tenant_id)} (${inertText(display_name)})`,
  );
  cli.note(near.length > 0 ? `  Did you mean ${near.join(' or ')}?` : '  `usage-ledger tenants list` has all tenants');
}

/** An id without what people change by accident: case, and the space around it. */
export function foldId(id: string): string {
  return id.normalize('NFKC').trim().toLowerCase();
}

/** Points out an id that differs only by `foldId` from a tenant of the ledger. */
export function notKnown(id: string, known: string): string {
  return `${quoted(id)} is not a known tenant; did you mean ${quoted(known)}?`;
}

function quoted(id: string): string {
  return inertText(JSON.stringify(id));
}
