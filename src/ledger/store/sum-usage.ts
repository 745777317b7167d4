import type { LedgerDb } from './ledger-db.ts';
import { closedUsage } from './schema/billing-tables.ts';
import { eq, prepared, sql } from './schema/drizzle.ts';
import { tenantUsage } from './schema/run-tables.ts';

/** The totals of a period: the number of tenants that are not withdrawn, and the sums over all tenants. */
export interface UsageSum {
  tenants: number;
  creditsUsed: bigint;
  requestCount: bigint;
}

const usageTotals = (table: typeof tenantUsage | typeof closedUsage) =>
  prepared((db) =>
    db
      .select({
        tenants: sql`count(*) FILTER (WHERE ${table.withdrawn} = 0)`.mapWith(Number),
        creditsUsed: sql<bigint>`coalesce(sum(${table.creditsUsed}), 0)`,
        requestCount: sql<bigint>`coalesce(sum(${table.requestCount}), 0)`,
      })
      .from(table)
      .where(eq(table.periodKey, sql.placeholder('periodKey'))),
  );
const SUMS = { now: usageTotals(tenantUsage), closed: usageTotals(closedUsage) };

/** Sums the current figures of a period. With `closed`, sums the figures that the close of the period has frozen. */
export function sumUsage(connection: LedgerDb, periodKey: number, state: 'now' | 'closed' = 'now'): UsageSum {
  return SUMS[state](connection).get({ periodKey }) ?? { tenants: 0, creditsUsed: 0n, requestCount: 0n };
}
