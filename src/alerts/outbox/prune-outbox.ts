import type Database from 'better-sqlite3';

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
  const { changes } = connection
    .prepare(
      `DELETE FROM outbox WHERE notification_id IN (
         SELECT o.notification_id FROM outbox o LEFT JOIN alerts a USING (alert_key)
         WHERE o.state IN ('delivered', 'digested', 'dead') AND o.created_at < ?
           AND (a.alert_key IS NULL OR a.state IN ('resolved', 'expired'))
         ORDER BY o.created_at LIMIT ${NOTIFICATIONS_A_STEP})`,
    )
    .run(before);
  return { notifications: changes, more: changes === NOTIFICATIONS_A_STEP };
}
