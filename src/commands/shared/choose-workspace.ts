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
  if (id === undefined) throw new UsageError('--workspace is required: several are configured', oneOf(known));
  const found = config.workspaces.find((workspace) => workspace.id === id);
  if (found !== undefined) return found;
  throw new UsageError(`--workspace ${JSON.stringify(id)} is not configured`, oneOf(known));
}

/** Throws UsageError for a workspace that is neither configured nor in the ledger, such as a misspelt id. */
export function requireKnownWorkspace(context: Context, id: string | undefined, where = '--workspace'): void {
  if (id === undefined) return;
  const configured = context.config.workspaces.map((workspace) => workspace.id);
  const known = new Set([...configured, ...ledgerWorkspaces(context.reader().connection)]);
  if (!known.has(id)) throw new UsageError(`${where} ${JSON.stringify(id)} is unknown`, oneOf([...known]));
}

function oneOf(ids: readonly string[]): string {
  return `use one of ${ids.map((id) => JSON.stringify(id)).join(', ')}`;
}

export function unknownPeriod(period: string, workspaceId: string): AppError {
  const message = `the ledger has no data for ${period} in workspace ${JSON.stringify(workspaceId)}`;
  return new AppError('unknown_period', message, { hint: 'see the covered months in `usage-ledger status`' });
}

/**
 * Notes similar tenants, or the right workspace, when the requested tenant has no data. Sets exit code 1 when no workspace
 * has the tenant, so that a script notices a misspelt id.
 */
export function noteMissingTenant(
  cli: CliContext,
  connection: LedgerDb,
  requested: { tenantId: string | undefined; workspaceId: string | undefined },
): void {
  const { tenantId, workspaceId } = requested;
  if (tenantId === undefined) return;
  const known = workspacesOfTenant(connection, tenantId);
  if (known.length > 0) {
    if (workspaceId === undefined || known.includes(workspaceId)) return;
    cli.note(`  ${quoted(tenantId)} is in workspace ${known.slice(0, 3).map(inertText).join(', ')}`);
    return;
  }
  cli.exitCode = EXIT.failed;
  const near = nearTenants(connection, tenantId, workspaceId).map(({ tenant_id, display_name }) =>
    display_name === null ? quoted(tenant_id) : `${quoted(tenant_id)} (${inertText(display_name)})`,
  );
  cli.note(
    near.length > 0 ? `  Did you mean ${near.join(' or ')}?` : '  See all tenants with `usage-ledger tenants list`.',
  );
}

/** Normalizes an id for comparison: ignores case, surrounding space and Unicode compatibility forms. */
export function foldId(id: string): string {
  return id.normalize('NFKC').trim().toLowerCase();
}

/** Returns a hint for an unknown id whose `foldId` matches a known tenant. */
export function unknownTenantHint(id: string, known: string): string {
  return `${quoted(id)} is not a known tenant. Did you mean ${quoted(known)}?`;
}

function quoted(id: string): string {
  return inertText(JSON.stringify(id));
}
