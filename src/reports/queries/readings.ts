import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { query } from '../../ledger/store/query.ts';
import { and, asc, eq } from '../../ledger/store/schema/drizzle.ts';
import { usageEntries } from '../../ledger/store/schema/usage-tables.ts';
import { tenants } from '../../ledger/store/schema/workspace-tables.ts';
import { findPeriodOf } from '../../ledger/store/subjects.ts';

/** The credits of a tenant in a period as the ledger has read them, one after the other. */
export function readingsOf(
  connection: LedgerConnection,
  { workspaceId, period, tenantId }: { workspaceId: string; period: string; tenantId: string },
): bigint[] {
  const found = findPeriodOf(connection, workspaceId, period);
  if (found === undefined) return [];
  const isTenant = and(eq(tenants.workspaceKey, found.workspaceKey), eq(tenants.tenantId, tenantId));
  return query(connection)
    .select({ credits: usageEntries.creditsAfter })
    .from(usageEntries)
    .innerJoin(tenants, eq(tenants.tenantKey, usageEntries.tenantKey))
    .where(and(eq(usageEntries.periodKey, found.periodKey), isTenant))
    .orderBy(asc(usageEntries.entryId))
    .all()
    .map(({ credits }) => credits);
}
