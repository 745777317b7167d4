import { onceEach } from '../../core/one-at-a-time.ts';
import { alerts } from '../../ledger/store/schema/alert-tables.ts';
import {
  and,
  count,
  eq,
  gt,
  gte,
  isNotNull,
  prepared,
  query,
  type SQL,
  sql,
} from '../../ledger/store/schema/drizzle.ts';
import { tenantUsage } from '../../ledger/store/schema/run-tables.ts';
import type { BookContext } from './alert-change.ts';
import { isOpenAlert } from './alert-rows.ts';

/** So many tenants that wait at once may be told together. */
const CROWD = 5;

/** Whether more than a twentieth of a period's tenants waited for their pace to be confirmed. */
export type Crowds = (periodKey: number) => boolean;

const crowdsOf = prepared((db) => {
  const { periodKey, tenantKey, state } = alerts;
  const isOwn = and(eq(alerts.workspaceKey, sql.placeholder('workspaceKey')), isOpenAlert);
  const waiting = db.select({ periodKey, waiting: count() }).from(alerts);
  return waiting
    .where(and(isOwn, eq(state, 'pending'), isNotNull(tenantKey)))
    .groupBy(periodKey)
    .having(gte(count(), CROWD));
});

/** Counts who waits now: before a run changes any, so that the order in which alerts are looked at decides nothing. */
export function findCrowds(context: BookContext): Crowds {
  const { connection, workspaceKey } = context;
  const crowds = crowdsOf(connection).all({ workspaceKey });
  const waiting = new Map(crowds.map((crowd) => [crowd.periodKey, crowd.waiting]));
  return onceEach((periodKey) => {
    const count = waiting.get(periodKey);
    return count !== undefined && count * 20 > countTenants(context, periodKey);
  });
}

/** Tenants that there is something to say of: with credits in the period before, or with a record of this one. */
export function countTenants({ connection }: Pick<BookContext, 'connection'>, periodKey: number): number {
  const { creditsUsed, withdrawn } = tenantUsage;
  const countOf = (key: number, isCounted: SQL) =>
    query(connection)
      .select({ tenants: count() })
      .from(tenantUsage)
      .where(and(eq(tenantUsage.periodKey, key), isCounted))
      .get()?.tenants ?? 0;
  return Math.max(countOf(periodKey - 1, gt(creditsUsed, 0n)), countOf(periodKey, eq(withdrawn, 0)));
}
