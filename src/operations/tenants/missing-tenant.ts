import { AppError } from '../../core/errors.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { type NearTenant, nearTenants, workspacesOfTenant } from '../../reports/queries/tenants.ts';

/** The reason why a listing of one tenant is empty. */
export type MissingTenant =
  /** Only other workspaces have the tenant. */
  | { kind: 'elsewhere'; workspaces: string[] }
  /** No workspace has the tenant. `near` lists tenants with a similar id or name. */
  | { kind: 'unknown'; near: NearTenant[] };

/**
 * Explains why a tenant has no data in the workspace; without a workspace, why it has no data in any. Returns null if
 * the tenant has data.
 */
export function explainMissingTenant(
  connection: LedgerDb,
  { tenantId, workspaceId }: { tenantId: string; workspaceId: string | undefined },
): MissingTenant | null {
  const known = workspacesOfTenant(connection, tenantId);
  if (known.length === 0) return { kind: 'unknown', near: nearTenants(connection, tenantId, workspaceId) };
  return workspaceId === undefined || known.includes(workspaceId) ? null : { kind: 'elsewhere', workspaces: known };
}

export function unknownTenant(workspaceId: string, tenantId: string): AppError {
  const message = `workspace ${JSON.stringify(workspaceId)} has no tenant ${JSON.stringify(tenantId)}`;
  return new AppError('unknown_tenant', message, { hint: 'see `usage-ledger tenants list`' });
}
