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

/** What is said of an alert: everything but what only deliveries write. */
type Word = Omit<typeof outbox.$inferSelect, 'deliveredAt' | 'lastError' | 'digestId' | 'unknownAttempts'>;

const insertRow = prepared((db) =>
  db
    .insert(outbox)
    .values(
      placeholders([
        ...([
          'notificationId',
          'alertKey',
          'revision',
          'channel',
          'payload',
          'state',
          'createdAt',
          'digestAt',
        ] as const),
        ...(['nextAttemptAt', 'attempts', 'attemptsBefore', 'claimedUntil'] as const),
        ...(['event', 'episode', 'level', 'toldTimes', 'measure'] as const),
      ]),
    ),
);

/** Writes down what there is to tell of an alert, to go at once or with a daily summary. */
export function insertWord(connection: Database.Database, word: Word): void {
  insertRow(connection).run(word);
}
