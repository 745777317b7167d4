import { index, integer, primaryKey, sqliteTable, text } from './drizzle.ts';
import type { TableRecord } from './rows.ts';

/** Where usage goes on to. What an outlet has sent are the entries up to its cursor, but for those of `outlet_events`. */
export const outlets = sqliteTable('outlets', {
  name: text('name').primaryKey(),
  /** What it was begun as, such as `webhook credits`: another is another receiver. */
  receiver: text('receiver').notNull(),
  /** JSON array of the ids of its workspaces; null: all. */
  workspaces: text('workspaces'),
  fromPeriod: text('from_period').notNull(),
  begunAt: text('begun_at').notNull(),
  begunBy: text('begun_by').notNull(),
  /** The last entry that has been looked at. */
  cursor: integer('cursor').notNull(),
  /** Entries behind the cursor, up to this one, were perhaps sent; since when. Null: none was. */
  flightTo: integer('flight_to'),
  flightSince: text('flight_since'),
  /** Why nothing is sent: by hand, credentials refused, not known what it has, restored from a backup; null while it is. */
  paused: text('paused', { enum: ['hand', 'unauthorised', 'uncertain', 'restored'] }),
  reason: text('reason'),
  changedAt: text('changed_at').notNull(),
  /** The last comparison with what its receiver has, and JSON of what differed. */
  checkedAt: text('checked_at'),
  differences: text('differences'),
  /** By its receiver's clock: reports of late refusals up to this time were read. Null: none was. */
  reportsUntil: text('reports_until'),
});

/** The exceptions: entries up to the cursor that its receiver does not have from us. */
export const outletEvents = sqliteTable(
  'outlet_events',
  {
    outlet: text('outlet')
      .notNull()
      .references(() => outlets.name),
    entryId: integer('entry_id').notNull(),
    /** `held` ones go by themselves once nothing is in their way; the others are settled by a person. */
    state: text('state', { enum: ['held', 'late', 'refused', 'settled'] }).notNull(),
    reason: text('reason').notNull(),
    since: text('since').notNull(),
    /** A held one was perhaps sent, since then. */
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

export const outletRecords: readonly TableRecord[] = [{ table: outlets }, { table: outletEvents }];
