import { index, integer, rowKey, sql, sqliteTable, text } from './drizzle.ts';
import type { TableRecord } from './rows.ts';

/** Messages on their way to one channel each, with the bytes that are sent. The states: src/alerts/notify/delivery-states.ts. */
export const deliveries = sqliteTable(
  'deliveries',
  {
    deliveryKey: rowKey('delivery_key').primaryKey(),
    notificationId: text('notification_id').notNull().unique(),
    channel: text('channel').notNull(),
    /** About one alert, about several at once, or a daily summary. */
    form: text('form', { enum: ['single', 'group', 'digest'] }).notNull(),
    /** The exact bytes that are sent on every attempt; of one that was refused only the sentence is kept. */
    payload: text('payload').notNull(),
    state: text('state', { enum: ['fresh', 'trying', 'possible', 'delivered', 'refused', 'dead'] }).notNull(),
    attempts: integer('attempts').notNull().default(0),
    /** Attempts that have failed in a row, those of its members before it among them. */
    failures: integer('failures').notNull().default(0),
    createdAt: text('created_at').notNull(),
    /** When somebody may take it in hand, null: never again; and when that was worked out. */
    dueAt: text('due_at'),
    dueSetAt: text('due_set_at'),
    deliveredAt: text('delivered_at'),
    lastError: text('last_error'),
  },
  (table) => [
    index('deliveries_due').on(table.dueAt, table.dueSetAt).where(sql`due_at IS NOT NULL`),
    index('deliveries_dead').on(table.createdAt).where(sql`state = 'dead'`),
    index('deliveries_by_age').on(table.createdAt),
  ],
);

/** What is known of a channel's receiver. */
export const channelStates = sqliteTable('channel_states', {
  name: text('name').primaryKey(),
  /** Its receiver wants nothing more, since then and for this reason; null while it does. */
  disabledAt: text('disabled_at'),
  reason: text('reason'),
  /** It has refused larger messages as too large. */
  mostBytes: integer('most_bytes'),
});

export const deliveryRecords: readonly TableRecord[] = [
  {
    table: deliveries,
    guard: {
      label: "'notification ' || ROW.notification_id",
      except: ['due_at', 'due_set_at'],
    },
  },
  {
    table: channelStates,
    guard: {
      label: "'state of channel ' || ROW.name",
    },
  },
];
