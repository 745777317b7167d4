import { index, integer, primaryKey, sqliteTable, text } from './drizzle.ts';
import type { TableProperties } from './rows.ts';

/**
 * Outlets: receivers that usage is sent to. An outlet has sent every entry up to its cursor, except the entries in
 * `outlet_events`.
 */
export const outlets = sqliteTable('outlets', {
  name: text('name').primaryKey(),
  /**
   * The kind and meter of the receiver, such as `webhook credits`, that the outlet was created with. If the
   * configuration has another value, it is treated as another receiver.
   */
  receiver: text('receiver').notNull(),
  /** JSON array of the ids of the workspaces whose entries are sent; null: all workspaces. */
  workspaces: text('workspaces'),
  fromPeriod: text('from_period').notNull(),
  begunAt: text('begun_at').notNull(),
  begunBy: text('begun_by').notNull(),
  /** The last entry that was processed: sent, or recorded as an exception. */
  cursor: integer('cursor').notNull(),
  /**
   * The last of the entries in flight: the entries after the cursor that may have been sent since `flight_since`. Null:
   * no entry is in flight.
   */
  flightTo: integer('flight_to'),
  flightSince: text('flight_since'),
  /**
   * Why nothing is sent: paused by a person, credentials rejected, state of the receiver unknown, ledger restored from
   * a backup. Null while the outlet is active.
   */
  paused: text('paused', { enum: ['hand', 'unauthorized', 'uncertain', 'restored'] }),
  reason: text('reason'),
  changedAt: text('changed_at').notNull(),
  /** Time of the last comparison with the receiver's records; `differences` is its result as JSON. */
  checkedAt: text('checked_at'),
  differences: text('differences'),
  /** The time, by the receiver's clock, up to which its reports of late rejections were read. Null: none read. */
  reportsUntil: text('reports_until'),
});

/** The exceptions: entries up to the cursor that this outlet has not delivered. */
export const outletEvents = sqliteTable(
  'outlet_events',
  {
    outlet: text('outlet')
      .notNull()
      .references(() => outlets.name),
    entryId: integer('entry_id').notNull(),
    /**
     * `held` entries are sent automatically as soon as nothing blocks them. A person decides about entries in other
     * states.
     */
    state: text('state', { enum: ['held', 'late', 'refused', 'settled'] }).notNull(),
    reason: text('reason').notNull(),
    since: text('since').notNull(),
    /** For a held entry, the time at which it may have been sent; null if it was not sent. */
    postedAt: text('posted_at'),
    settledAt: text('settled_at'),
    settledBy: text('settled_by'),
    note: text('note'),
  },
  (table) => [
    primaryKey({ columns: [table.outlet, table.entryId] }),
    index('outlet_events_by_state').on(table.outlet, table.state),
  ],
);

export const outletTableProperties: readonly TableProperties[] = [{ table: outlets }, { table: outletEvents }];
