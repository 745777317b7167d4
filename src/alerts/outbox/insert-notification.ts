import type Database from 'better-sqlite3';
import { placeholders, prepared, query } from '../../ledger/store/query.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';

type Notification = Pick<
  typeof outbox.$inferInsert,
  'notificationId' | 'alertKey' | 'channel' | 'payload' | 'createdAt'
>;

/** The statement that has a notification go at once. */
export function insertNotification(connection: Database.Database, notification: Notification) {
  const row = { ...notification, state: 'pending' as const, nextAttemptAt: notification.createdAt };
  return query(connection).insert(outbox).values(row);
}

const insertRow = prepared((db) =>
  db
    .insert(outbox)
    .values(
      placeholders([
        ...(['notificationId', 'alertKey', 'revision', 'channel', 'payload'] as const),
        ...(['state', 'createdAt', 'nextAttemptAt', 'digestAt'] as const),
      ]),
    ),
);

type Told = Required<Notification> &
  Pick<typeof outbox.$inferSelect, 'revision' | 'state' | 'nextAttemptAt' | 'digestAt'>;

/** Writes down what a run has to tell, to go at once or with a digest. */
export function insertTold(connection: Database.Database, told: Told): void {
  insertRow(connection).run(told);
}
