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
