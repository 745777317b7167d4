import type Database from 'better-sqlite3';

/** Returns what looks up what people call a tenant, as it was imported last; null when it has no name. */
export function createTenantNames(connection: Database.Database): (tenantKey: number | null) => string | null {
  const read = connection
    .prepare('SELECT display_name FROM tenant_names WHERE tenant_key = ? ORDER BY after_seq DESC LIMIT 1')
    .pluck();
  return (tenantKey) => (tenantKey === null ? null : ((read.get(tenantKey) as string | null | undefined) ?? null));
}
