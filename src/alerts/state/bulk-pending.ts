import { oncePerKey } from '../../core/one-at-a-time.ts';
import type { RuleName } from '../../core/text/alert-words.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { alerts } from '../../ledger/store/schema/alert-tables.ts';
import {
  and,
  count,
  eq,
  gt,
  gte,
  inArray,
  isNotNull,
  prepared,
  query,
  type SQL,
  sql,
} from '../../ledger/store/schema/drizzle.ts';
import { tenantUsage } from '../../ledger/store/schema/run-tables.ts';
import { isOpenAlertSql } from './alert-store.ts';

/** Numbers of tenants in a month for which a rule holds. */
export interface TenantCounts {
  /** All tenants of the month. */
  tenants: number;
  /** Tenants with a likely alert. */
  likely: number;
  /** Tenants with an alert of a higher level. */
  reached: number;
}

/** Pending alerts of fewer tenants than this do not wait for each other. */
const MIN_BULK_TENANTS = 5;
/** Pending alerts wait for each other if more than one in this many tenants has one. */
const BULK_SHARE_DIVISOR = 20;

const pendingCounts = prepared((db) => {
  const { periodKey, tenantKey, state } = alerts;
  const isOfWorkspace = and(eq(alerts.workspaceKey, sql.placeholder('workspaceKey')), isOpenAlertSql);
  const pending = db.select({ periodKey, pending: count() }).from(alerts);
  return pending
    .where(and(isOfWorkspace, eq(state, 'pending'), isNotNull(tenantKey)))
    .groupBy(periodKey)
    .having(gte(count(), MIN_BULK_TENANTS));
});

/**
 * Returns a function that reports whether many alerts of a period await confirmation. Alerts are counted now, before a
 * run changes any, so that the order of evaluation makes no difference.
 */
export function createBulkPendingCheck(
  connection: LedgerDb,
  workspaceKey: number | null,
): (periodKey: number) => boolean {
  const counts = pendingCounts(connection).all({ workspaceKey });
  const pendingIn = new Map(counts.map(({ periodKey, pending }) => [periodKey, pending]));
  return oncePerKey((periodKey) => {
    const pending = pendingIn.get(periodKey);
    return pending !== undefined && pending * BULK_SHARE_DIVISOR > countTenantsOfMonth(connection, periodKey);
  });
}

/** Counts the tenants with a record in a period, or those with credits in the previous one, whichever are more. */
export function countTenantsOfMonth(connection: LedgerDb, periodKey: number): number {
  const countIn = (key: number, condition?: SQL) =>
    query(connection)
      .select({ tenants: count() })
      .from(tenantUsage)
      .where(and(eq(tenantUsage.periodKey, key), condition))
      .get()?.tenants ?? 0;
  return Math.max(countIn(periodKey - 1, gt(tenantUsage.creditsUsed, 0n)), countIn(periodKey));
}

const holdingCounts = prepared((db) => {
  const { periodKey, tenantKey, rule, state, level } = alerts;
  const isOfRule = and(eq(rule, sql.placeholder('rule')), eq(periodKey, sql.placeholder('periodKey')));
  const holding = db.select({ likely: sql<number>`${level} = 'likely'`, count: count() }).from(alerts);
  return holding.where(and(isOfRule, isNotNull(tenantKey), inArray(state, ['firing', 'acknowledged']))).groupBy(sql`1`);
});

/** Counts the tenants of a period with a firing or acknowledged alert of a rule. */
export function countTenantsWithAlert(
  connection: LedgerDb,
  { rule, periodKey }: { rule: RuleName; periodKey: number },
): TenantCounts {
  const rows = holdingCounts(connection).all({ rule, periodKey });
  const countOf = (likely: number) => rows.find((row) => Number(row.likely) === likely)?.count ?? 0;
  return { tenants: countTenantsOfMonth(connection, periodKey), likely: countOf(1), reached: countOf(0) };
}
