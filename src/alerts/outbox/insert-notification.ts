import type Database from 'better-sqlite3';
import { query } from '../../ledger/store/query.ts';
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
