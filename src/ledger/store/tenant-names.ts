import type { LedgerDb } from './ledger-db.ts';
import { tenantNames as names } from './schema/billing-tables.ts';
import { and, desc, eq, prepared, sql } from './schema/drizzle.ts';
import { tenants, workspaces } from './schema/workspace-tables.ts';
import { whereClause } from './where.ts';

const latestName = prepared((db) =>
  db
    .select({ displayName: names.displayName })
    .from(workspaces)
    .innerJoin(tenants, eq(tenants.workspaceKey, workspaces.workspaceKey))
    .innerJoin(names, eq(names.tenantKey, tenants.tenantKey))
    .where(
      and(
        eq(workspaces.workspaceId, sql.placeholder('workspaceId')),
        eq(tenants.tenantId, sql.placeholder('tenantId')),
      ),
    )
    .orderBy(desc(names.afterSeq))
    .limit(1),
);

const nameOfKey = prepared((db) =>
  db
    .select({ displayName: names.displayName })
    .from(names)
    .where(eq(names.tenantKey, sql.placeholder('tenantKey')))
    .orderBy(desc(names.afterSeq))
    .limit(1),
);

/**
 * Returns a function that looks up the display name of a tenant; null for a tenant without a name. All matching names
 * are read at once.
 */
export function tenantNameLookup(
  connection: LedgerDb,
  { workspaceId, tenantId }: { workspaceId?: string | undefined; tenantId?: string | undefined } = {},
): (workspaceId: string, tenantId: string) => string | null {
  const { where, values } = whereClause({ 'w.workspace_id': workspaceId, 't.tenant_id': tenantId });
  // The query begins with `tenant_names`, so that it takes no time in a ledger without names.
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

/** Returns the current external references of a workspace's tenants, by tenant id. */
export function tenantReferences(connection: LedgerDb, workspaceId: string): Map<string, string> {
  const found = connection
    .prepare('SELECT tenant_id, external_ref FROM finance_tenants WHERE workspace_id = ? AND external_ref IS NOT NULL')
    .raw();
  return new Map(found.all(workspaceId) as [string, string][]);
}

/**
 * Returns a function that looks up display names in one workspace. It queries the ledger for each tenant, which suits a
 * caller that needs few of many tenants.
 */
export function tenantNameReader(connection: LedgerDb, workspaceId: string): (tenantId: string) => string | null {
  const name = latestName(connection);
  return (tenantId) => name.get({ workspaceId, tenantId })?.displayName ?? null;
}

export function tenantNamesByKey(connection: LedgerDb): (tenantKey: number | null) => string | null {
  const names = nameOfKey(connection);
  return (tenantKey) => (tenantKey === null ? null : (names.get({ tenantKey })?.displayName ?? null));
}
