import type Database from 'better-sqlite3';
import { perConnection, query } from './query.ts';
import { eq, sql } from './schema/drizzle.ts';
import { tenants, workspaces } from './schema/workspace-tables.ts';

/** Looks up the row of a workspace by the name that the service gave it. */
export function findWorkspace(connection: Database.Database, workspaceId: string) {
  return query(connection).select().from(workspaces).where(eq(workspaces.workspaceId, workspaceId)).get();
}

const tenantByKey = perConnection((connection) =>
  query(connection)
    .select({ tenantId: tenants.tenantId })
    .from(tenants)
    .where(eq(tenants.tenantKey, sql.placeholder('tenantKey')))
    .prepare(),
);

/** The name behind a tenant's key. */
export function tenantIdOf(connection: Database.Database, tenantKey: number): string {
  const found = tenantByKey(connection).get({ tenantKey });
  if (found === undefined) throw new Error(`the ledger has no tenant with the key ${tenantKey}`);
  return found.tenantId;
}
