import type Database from 'better-sqlite3';
import { prepared } from '../../ledger/store/query.ts';
import { tenantNames } from '../../ledger/store/schema/billing-tables.ts';
import { desc, eq, sql } from '../../ledger/store/schema/drizzle.ts';

const latestName = prepared((db) =>
  db
    .select({ displayName: tenantNames.displayName })
    .from(tenantNames)
    .where(eq(tenantNames.tenantKey, sql.placeholder('tenantKey')))
    .orderBy(desc(tenantNames.afterSeq))
    .limit(1),
);

/** Returns what looks up what people call a tenant, as it was imported last; null when it has no name. */
export function createTenantNames(connection: Database.Database): (tenantKey: number | null) => string | null {
  const names = latestName(connection);
  return (tenantKey) => (tenantKey === null ? null : (names.get({ tenantKey })?.displayName ?? null));
}
