import { alerts } from './alert-tables.ts';
import { index, integer, sql, sqliteTable, text } from './drizzle.ts';
import type { TableRecord } from './rows.ts';

/**
 * Notifications on their way: one row a channel, written in the transaction that changed the alert. `pending` goes at
 * once; `held` waits for the channel's digest; `digested` went with the notification that `digest_id` names.
 */
export const outbox = sqliteTable(
  'outbox',
  {
    notificationId: text('notification_id').primaryKey(),
    /** Null: a digest, or a notice of a channel that was disabled by one. */
    alertKey: integer('alert_key').references(() => alerts.alertKey),
    /** The change of the alert that it tells of; null for what tells of none. */
    revision: integer('revision'),
    channel: text('channel').notNull(),
    /** The exact bytes that are sent on every attempt. */
    payload: text('payload').notNull(),
    state: text('state', { enum: ['pending', 'held', 'digested', 'delivered', 'dead'] }).notNull(),
    attempts: integer('attempts').notNull().default(0),
    /** The attempts up to the last replay: backoff and the three days begin anew after it. */
    attemptsBefore: integer('attempts_before').notNull().default(0),
    createdAt: text('created_at').notNull(),
    nextAttemptAt: text('next_attempt_at').notNull(),
    /** Until when a sender has this row in hand, or had: the wait for the next attempt began then. */
    claimedUntil: text('claimed_until'),
    deliveredAt: text('delivered_at'),
    lastError: text('last_error'),
    /** When the digest was due that it was written for; null for what goes at once. */
    digestAt: text('digest_at'),
    digestId: text('digest_id'),
  },
  (table) => [
    index('outbox_due').on(table.nextAttemptAt).where(sql`state = 'pending'`),
    index('outbox_held').on(table.nextAttemptAt).where(sql`state = 'held'`),
    index('outbox_dead').on(table.createdAt, table.notificationId).where(sql`state = 'dead'`),
    index('outbox_done').on(table.createdAt).where(sql`state IN ('delivered', 'digested', 'dead')`),
    index('outbox_by_alert').on(table.alertKey).where(sql`alert_key IS NOT NULL`),
  ],
);

export const channelStates = sqliteTable('channel_states', {
  name: text('name').primaryKey(),
  disabledAt: text('disabled_at').notNull(),
  reason: text('reason').notNull(),
});

export const outboxRecords: readonly TableRecord[] = [
  {
    table: outbox,
    says: 'A notification on its way to one channel, with the exact bytes that are sent.',
    guard: { label: "'notification ' || ROW.notification_id", except: ['claimed_until'] },
    mirrored: 'changed',
    moved: true,
  },
  {
    table: channelStates,
    says: 'A channel whose receiver wants nothing more, until somebody replays a notification of its.',
    guard: { label: "'state of channel ' || ROW.name" },
    mirrored: 'whole',
    moved: false,
  },
];
