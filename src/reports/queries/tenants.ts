import type { LedgerConnection } from '../../ledger/file/open.ts';
import { whereClause } from './where.ts';

/** One row of `finance_tenants`. */
export interface NamedTenantRow {
  workspace_id: string;
  tenant_id: string;
  display_name: string | null;
  external_ref: string | null;
  labels: Readonly<Record<string, string>>;
  first_seen_at: string | null;
}

/** The tenants of a workspace, or of all, with their names. */
export function namedTenants(connection: LedgerConnection, workspaceId: string | undefined): NamedTenantRow[] {
  const { where, values } = whereClause({ workspace_id: workspaceId });
  const rows = connection
    .prepare(
      `SELECT workspace_id, tenant_id, display_name, external_ref, labels, first_seen_at
       FROM finance_tenants ${where} ORDER BY workspace_id, tenant_id`,
    )
    .all(...values) as (Omit<NamedTenantRow, 'labels'> & { labels: string | null })[];
  return rows.map((row) => ({ ...row, labels: JSON.parse(row.labels ?? '{}') as Record<string, string> }));
}

/** Looks up what people call a tenant, null when it has no name; the names that fit are read once. */
export function tenantNames(
  connection: LedgerConnection,
  { workspaceId, tenantId }: { workspaceId?: string | undefined; tenantId?: string | undefined } = {},
): (workspaceId: string, tenantId: string) => string | null {
  const { where, values } = whereClause({ 'w.workspace_id': workspaceId, 't.tenant_id': tenantId });
  // From the names, of which there may be none, to the tenants: a ledger without names pays nothing.
  const found = connection
    .prepare(
      `SELECT w.workspace_id, t.tenant_id, n.display_name, max(n.after_seq)
       FROM tenant_names n JOIN tenants t USING (tenant_key) JOIN workspaces w USING (workspace_key)
       ${where} GROUP BY n.tenant_key`,
    )
    .raw()
    .iterate(...values) as IterableIterator<[string, string, string | null, number]>;
  const names = new Map<string, Map<string, string>>();
  for (const [workspace, tenant, name] of found) {
    if (name === null) continue;
    const own = names.get(workspace) ?? new Map<string, string>();
    names.set(workspace, own.set(tenant, name));
  }
  return (workspace, tenant) => names.get(workspace)?.get(tenant) ?? null;
}

/** The same for the tenants of one workspace, each looked up when it is asked for: for few of many. */
export function tenantNameReader(
  connection: LedgerConnection,
  workspaceId: string,
): (tenantId: string) => string | null {
  const name = connection
    .prepare(
      `SELECT n.display_name FROM workspaces w JOIN tenants t USING (workspace_key) JOIN tenant_names n USING (tenant_key)
       WHERE w.workspace_id = ? AND t.tenant_id = ? ORDER BY n.after_seq DESC LIMIT 1`,
    )
    .pluck();
  return (tenantId) => (name.get(workspaceId, tenantId) as string | null | undefined) ?? null;
}
