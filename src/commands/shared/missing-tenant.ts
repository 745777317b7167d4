import { inertText } from '../../core/text/inert-text.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { explainMissingTenant } from '../../operations/tenants/missing-tenant.ts';
import { quotedId } from '../../operations/tenants/similar-ids.ts';
import { type CliContext, EXIT } from './cli-context.ts';

/**
 * If the requested tenant has no data, prints a note with similar tenants or the workspace that has it. Sets exit code
 * 1 if no workspace has the tenant, so that a script notices a misspelt id.
 */
export function noteMissingTenant(
  cli: CliContext,
  connection: LedgerDb,
  { tenantId, workspaceId }: { tenantId: string | undefined; workspaceId: string | undefined },
): void {
  const missing = tenantId === undefined ? null : explainMissingTenant(connection, { tenantId, workspaceId });
  if (tenantId === undefined || missing === null) return;
  if (missing.kind === 'elsewhere') {
    cli.note(`  ${quotedId(tenantId)} is in workspace ${missing.workspaces.slice(0, 3).map(inertText).join(', ')}`);
    return;
  }
  cli.exitCode = EXIT.failed;
  const near = missing.near.map(({ tenant_id, display_name }) =>
    display_name === null ? quotedId(tenant_id) : `${quotedId(tenant_id)} (${inertText(display_name)})`,
  );
  cli.note(
    near.length > 0 ? `  Did you mean ${near.join(' or ')}?` : '  See all tenants with `usage-ledger tenants list`.',
  );
}
