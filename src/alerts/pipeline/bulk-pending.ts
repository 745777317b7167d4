import { oncePerKey } from '../../core/one-at-a-time.ts';
import type { RuleName } from '../../core/text/alert-words.ts';
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
import { isOpenAlert } from '../state/alert-store.ts';
import type { BookContext } from './book-context.ts';

/** Of how many tenants something is so in a month, and how many there are. */
export interface OfAll {
  tenants: number;
  /** Of whom it is likely, and of whom more than that. */
  likely: number;
  reached: number;
}

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
  return oncePerKey((periodKey) => {
    const count = waiting.get(periodKey);
    return count !== undefined && count * 20 > countTenants(context, periodKey);
  });
}

/** Tenants that there is something to say of: with credits in the period before, or that had a record of this one. */
export function countTenants({ connection }: Pick<BookContext, 'connection'>, periodKey: number): number {
  const countOf = (key: number, isCounted?: SQL) =>
    query(connection)
      .select({ tenants: count() })
      .from(tenantUsage)
      .where(and(eq(tenantUsage.periodKey, key), isCounted))
      .get()?.tenants ?? 0;
  return Math.max(countOf(periodKey - 1, gt(tenantUsage.creditsUsed, 0n)), countOf(periodKey));
}

const holdingOf = prepared((db) => {
  const { periodKey, tenantKey, rule, state, level } = alerts;
  const isOwn = and(eq(rule, sql.placeholder('rule')), eq(periodKey, sql.placeholder('periodKey')));
  const holding = db.select({ likely: sql<number>`${level} = 'likely'`, count: count() }).from(alerts);
  return holding.where(and(isOwn, isNotNull(tenantKey), inArray(state, ['firing', 'acknowledged']))).groupBy(sql`1`);
});

export function countOfAll(
  { connection }: Pick<BookContext, 'connection'>,
  { rule, periodKey }: { rule: RuleName; periodKey: number },
): OfAll {
  const found = holdingOf(connection).all({ rule, periodKey });
  const of = (likely: number) => found.find((row) => Number(row.likely) === likely)?.count ?? 0;
  return { tenants: countTenants({ connection }, periodKey), likely: of(1), reached: of(0) };
}
