import { index, integer, rowKey, sql, sqliteTable, text } from './drizzle.ts';
import type { TableProperties } from './rows.ts';

/** Messages, each to one channel, with the bytes to send. States: src/alerts/outbox/delivery-states.ts. */
export const deliveries = sqliteTable(
  'deliveries',
  {
    deliveryKey: rowKey('delivery_key').primaryKey(),
    notificationId: text('notification_id').notNull().unique(),
    channel: text('channel').notNull(),
    /** `single`: a message about one alert. `group`: about several alerts at once. `digest`: a daily summary. */
    form: text('form', { enum: ['single', 'group', 'digest'] }).notNull(),
    /**
     * The exact bytes that every attempt sends. After the receiver has rejected the message, only the sentence of the
     * message is kept.
     */
    payload: text('payload').notNull(),
    state: text('state', { enum: ['fresh', 'trying', 'possible', 'delivered', 'refused', 'dead'] }).notNull(),
    attempts: integer('attempts').notNull().default(0),
    /** Number of consecutive failed attempts, including those of earlier messages about the same alerts. */
    failures: integer('failures').notNull().default(0),
    createdAt: text('created_at').notNull(),
    /** When the next attempt is due, and when that time was computed. Null: no further attempt. */
    dueAt: text('due_at'),
    scheduledAt: text('scheduled_at'),
    deliveredAt: text('delivered_at'),
    lastError: text('last_error'),
  },
  (table) => [
    index('deliveries_due').on(table.dueAt, table.scheduledAt).where(sql`due_at IS NOT NULL`),
    index('deliveries_dead').on(table.createdAt).where(sql`state = 'dead'`),
    index('deliveries_by_age').on(table.createdAt),
  ],
);

/** The state of each channel's receiver. */
export const channelStates = sqliteTable('channel_states', {
  name: text('name').primaryKey(),
  /**
   * When the receiver asked to send no more messages, and why (`reason`). Both are null while the receiver accepts
   * messages.
   */
  disabledAt: text('disabled_at'),
  reason: text('reason'),
  /**
   * The largest message to send, in bytes, because the receiver rejected a larger message as too large; null if no
   * limit is known.
   */
  mostBytes: integer('most_bytes'),
});

export const deliveryTableProperties: readonly TableProperties[] = [
  {
    table: deliveries,
    guard: {
      label: "'notification ' || ROW.notification_id",
      except: ['due_at', 'scheduled_at'],
    },
  },
  {
    table: channelStates,
    guard: {
      label: "'state of channel ' || ROW.name",
    },
  },
];
