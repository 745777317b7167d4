import { TOLD_EVENTS } from '../../../core/text/alert-words.ts';
import { alerts } from './alert-tables.ts';
import { index, int64, integer, sql, sqliteTable, text } from './drizzle.ts';
import type { TableRecord } from './rows.ts';

/**
 * Notifications on their way: one row a channel. `pending` goes at once; `held` waits for the channel's daily summary; `digested`
 * goes with the notification that `digest_id` names; `dropped` was not so any more before anybody had it.
 */
export const outbox = sqliteTable(
  'outbox',
  {
    notificationId: text('notification_id').primaryKey(),
    /** Null: a daily summary or a group, or a notice of a channel that was disabled by one. */
    alertKey: integer('alert_key').references(() => alerts.alertKey),
    /** Rises with each message of an alert to a channel; null for what is of no alert. */
    revision: integer('revision'),
    channel: text('channel').notNull(),
    /** The exact bytes that are sent on every attempt. */
    payload: text('payload').notNull(),
    state: text('state', { enum: ['pending', 'held', 'digested', 'delivered', 'dead', 'dropped'] }).notNull(),
    attempts: integer('attempts').notNull().default(0),
    /** The attempts up to the last replay: backoff and the three days begin anew after it. */
    attemptsBefore: integer('attempts_before').notNull().default(0),
    createdAt: text('created_at').notNull(),
    nextAttemptAt: text('next_attempt_at').notNull(),
    /** Until when a sender has this row in hand, or had: the wait for the next attempt began then. Null: when it was made. */
    claimedUntil: text('claimed_until'),
    deliveredAt: text('delivered_at'),
    lastError: text('last_error'),
    /** When the daily summary was due that it was written for; null for what goes at once. */
    digestAt: text('digest_at'),
    digestId: text('digest_id'),
    /** What it says of the alert; see `alert_told`. */
    event: text('event', { enum: TOLD_EVENTS }),
    episode: integer('episode'),
    level: text('level', { enum: ['likely', 'happened', 'settled'] }),
    toldTimes: integer('told_times'),
    measure: int64('measure'),
    /** Attempts of which nobody knows whether they have arrived: while there is one, nothing takes its place. */
    unknownAttempts: integer('unknown_attempts').notNull().default(0),
  },
  (table) => [
    index('outbox_due').on(table.nextAttemptAt).where(sql`state = 'pending'`),
    index('outbox_held').on(table.nextAttemptAt).where(sql`state = 'held'`),
    index('outbox_dead').on(table.createdAt, table.notificationId).where(sql`state = 'dead'`),
    index('outbox_done').on(table.createdAt).where(sql`state IN ('delivered', 'digested', 'dead', 'dropped')`),
    index('outbox_by_digest').on(table.digestId).where(sql`digest_id IS NOT NULL`),
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
    guard: { label: "'notification ' || ROW.notification_id", except: ['claimed_until', 'unknown_attempts'] },
  },
  {
    table: channelStates,
    says: 'A channel whose receiver wants nothing more, until somebody replays a notification of its.',
    guard: { label: "'state of channel ' || ROW.name" },
  },
];
