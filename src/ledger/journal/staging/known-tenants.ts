import type Database from 'better-sqlite3';

/** Tenants that SQLite joins into one row: reading each as a row of its own would take three times as long. */
const TENANTS_A_ROW = 4096;

/** The numbers of a workspace's tenants by id. */
export function knownTenants(connection: Database.Database, workspaceKey: number): Map<string, number> {
  const numbers = new Map<string, number>();
  const next = connection
    .prepare(
      `SELECT json_group_array(tenant_id), json_group_array(tenant_key), max(tenant_id)
       FROM (SELECT tenant_id, tenant_key FROM tenants WHERE workspace_key = ? AND tenant_id > ?
         ORDER BY tenant_id LIMIT ${TENANTS_A_ROW})`,
    )
    .raw();
  for (let after: string | null = ''; after !== null; ) {
    const [ids, tenantKeys, last] = next.get(workspaceKey, after) as [string, string, string | null];
    const tenantKeyAt = JSON.parse(tenantKeys) as number[];
    for (const [at, id] of (JSON.parse(ids) as string[]).entries()) numbers.set(id, tenantKeyAt[at] as number);
    after = last;
  }
  return numbers;
}
