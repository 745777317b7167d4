import type Database from 'better-sqlite3';

const MESSAGES_A_STEP = 500;

export interface PrunedDeliveries {
  notifications: number;
  more: boolean;
}

const OLD = `SELECT delivery_key FROM deliveries d WHERE created_at < @before AND due_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM delivery_members m JOIN alerts a USING (alert_key)
    WHERE m.delivery_key = d.delivery_key AND a.state NOT IN ('resolved', 'expired'))
  ORDER BY created_at, delivery_key LIMIT ${MESSAGES_A_STEP}`;

/**
 * Forgets messages that were made before `before` (ISO-8601 UTC) and have ended. Those of an alert that is open still stay, as
 * does what each channel was told of it.
 */
export function pruneDeliveries(connection: Database.Database, before: string): PrunedDeliveries {
  return connection
    .transaction(() => {
      connection.prepare(`DELETE FROM delivery_members WHERE delivery_key IN (${OLD})`).run({ before });
      // Without members nothing keeps them.
      const { changes } = connection.prepare(`DELETE FROM deliveries WHERE delivery_key IN (${OLD})`).run({ before });
      return { notifications: changes, more: changes === MESSAGES_A_STEP };
    })
    .immediate();
}
