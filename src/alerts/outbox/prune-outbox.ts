import type Database from 'better-sqlite3';
import { query } from '../../ledger/store/query.ts';
import { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { and, asc, eq, inArray, isNull, lt, or } from '../../ledger/store/schema/drizzle.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';

/** Notifications that one statement deletes. */
const NOTIFICATIONS_A_STEP = 500;

export interface PrunedOutbox {
  notifications: number;
  /** There may be more to delete. */
  more: boolean;
}

/**
 * Forgets notifications that were written before `before` (ISO-8601 UTC) and are delivered or given up. Those of an alert
 * that is open still stay: they say who must hear of its end.
 */
export function pruneOutbox(connection: Database.Database, before: string): PrunedOutbox {
  const db = query(connection);
  const isDone = inArray(outbox.state, ['delivered', 'digested', 'dead']).inlineParams();
  const alertIsOver = or(isNull(alerts.alertKey), inArray(alerts.state, ['resolved', 'expired']));
  const old = db
    .select({ notificationId: outbox.notificationId })
    .from(outbox)
    .leftJoin(alerts, eq(alerts.alertKey, outbox.alertKey))
    .where(and(isDone, lt(outbox.createdAt, before), alertIsOver))
    .orderBy(asc(outbox.createdAt))
    .limit(NOTIFICATIONS_A_STEP);
  const { changes } = db.delete(outbox).where(inArray(outbox.notificationId, old)).run();
  return { notifications: changes, more: changes === NOTIFICATIONS_A_STEP };
}
