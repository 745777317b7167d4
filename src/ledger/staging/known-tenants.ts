import type Database from 'better-sqlite3';
import { TenantIndex } from './tenant-index.ts';

/** Tenants that SQLite joins into one row: reading each as a row of its own would take three times as long. */
const TENANTS_A_ROW = 4096;

/** The tenants of a workspace by id. */
export function knownTenants(connection: Database.Database, workspaceKey: number): TenantIndex {
  const count = connection.prepare('SELECT count(*) FROM tenants WHERE workspace_key = ?').pluck().get(workspaceKey);
  const index = new TenantIndex(count as number);
  // An id may hold any character, so nothing can stand between two of them: their lengths tell where each ends.
  const next = connection
    .prepare(
      `SELECT CAST(group_concat(tenant_id, '') AS BLOB), json_group_array(length(CAST(tenant_id AS BLOB))),
         json_group_array(tenant_key), max(tenant_id)
       FROM (SELECT tenant_id, tenant_key FROM tenants WHERE workspace_key = ? AND tenant_id > ?
         ORDER BY tenant_id LIMIT ${TENANTS_A_ROW})`,
    )
    .raw();
  for (let after: string | null = ''; after !== null; ) {
    const row = next.get(workspaceKey, after) as [Buffer | null, string, string, string | null];
    const [ids, lengths, tenantKeys, last] = row;
    if (ids !== null) index.addAll(ids, JSON.parse(lengths) as number[], JSON.parse(tenantKeys) as number[]);
    after = last;
  }
  return index;
}
