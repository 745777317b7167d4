import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { query } from '../../ledger/store/query.ts';
import { and, asc, eq } from '../../ledger/store/schema/drizzle.ts';
import type { financeHistory } from '../../ledger/store/schema/finance-views.ts';
import type { Exact } from '../../ledger/store/schema/rows.ts';
import { tenants, workspaces } from '../../ledger/store/schema/workspace-tables.ts';
import type { Column } from '../formats/columns.ts';
import { formatSigned } from '../formats/format.ts';

/** One row of `finance_history`, without the workspace and tenant that were asked for. */
export type TenantEntry = Omit<Exact<typeof financeHistory.$inferSelect>, 'workspace_id' | 'tenant_id'>;

export const ENTRY_COLUMNS: readonly Column<TenantEntry>[] = [
  { name: 'entry_id', kind: 'count', header: 'Entry' },
  { name: 'recorded_at', kind: 'date', header: 'Recorded' },
  { name: 'period', kind: 'text', header: 'Period' },
  { name: 'kind', kind: 'text', header: 'Kind' },
  { name: 'credits_delta', kind: 'credits', header: 'Credits', words: formatSigned },
  { name: 'credits_after', kind: 'credits', header: 'After' },
  { name: 'requests_delta', kind: 'count', header: 'Requests', words: formatSigned },
  { name: 'requests_after', kind: 'count', header: 'Requests after', wide: true },
  { name: 'run_id', kind: 'id', header: 'Run', wide: true },
];

/** An entry where nothing stands above it that says whose it is. */
type PlacedEntry = TenantEntry & { workspace_id: string; tenant_id: string; display_name: string | null };

export const PLACED_ENTRY_COLUMNS: readonly Column<PlacedEntry>[] = [
  { name: 'workspace_id', kind: 'id' },
  { name: 'tenant_id', kind: 'id' },
  { name: 'display_name', kind: 'text' },
  ...ENTRY_COLUMNS,
];

/** The workspaces in which the ledger knows a tenant of this id, by id. */
export function workspacesOfTenant(connection: LedgerConnection, tenantId: string): string[] {
  const { workspaceId, workspaceKey } = workspaces;
  const found = query(connection)
    .select({ workspaceId })
    .from(workspaces)
    .innerJoin(tenants, and(eq(tenants.workspaceKey, workspaceKey), eq(tenants.tenantId, tenantId)));
  return found
    .orderBy(asc(workspaceId))
    .all()
    .map((workspace) => workspace.workspaceId);
}

/** Everything that was ever recorded of a tenant, in the order in which it was. */
export function tenantEntries(connection: LedgerConnection, workspaceId: string, tenantId: string): TenantEntry[] {
  // By the key of the entries: the view's joins do not say that a tenant belongs to one workspace, so it alone would
  // read every entry of the workspace.
  return connection
    .prepare(
      `SELECT entry_id, run_id, recorded_at, period, kind, credits_delta, requests_delta, credits_after, requests_after
       FROM finance_history
       WHERE entry_id IN (
         SELECT e.entry_id FROM workspaces w
         JOIN tenants t USING (workspace_key) JOIN periods p USING (workspace_key)
         JOIN usage_entries e ON e.period_key = p.period_key AND e.tenant_key = t.tenant_key
         WHERE w.workspace_id = ? AND t.tenant_id = ?)
       ORDER BY entry_id`,
    )
    .safeIntegers()
    .all(workspaceId, tenantId) as TenantEntry[];
}
