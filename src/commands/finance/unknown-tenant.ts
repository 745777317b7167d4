import { inertText } from '../../core/text/inert-text.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { nearTenants, workspacesOfTenant } from '../../reports/queries/tenants.ts';
import { type CliContext, EXIT } from '../shared/cli-context.ts';

/**
 * For a tenant that was asked for and is not there: says which ones may have been meant, or which workspace has it. One that no
 * workspace has is a failure: a script that misspells it must not take nothing for an answer.
 */
export function noteNearTenants(
  cli: CliContext,
  connection: LedgerConnection,
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
  if (near.length > 0) cli.note(`  Did you mean ${near.join(' or ')}?`);
}

function quoted(id: string): string {
  return inertText(JSON.stringify(id));
}
