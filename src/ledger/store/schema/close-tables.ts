import { index, int64, integer, primaryKey, rowKey, sqliteTable, text } from './drizzle.ts';
import type { TableRecord } from './rows.ts';
import { runs } from './run-tables.ts';
import { usageColumns } from './usage-tables.ts';
import { periods, tenants, workspaces } from './workspace-tables.ts';

export const periodEvents = sqliteTable('period_events', {
  /** Position in the chain, shared with `runs.applied_seq`. */
  eventSeq: integer('event_seq').primaryKey(),
  workspaceKey: integer('workspace_key')
    .notNull()
    .references(() => workspaces.workspaceKey),
  periodKey: integer('period_key')
    .notNull()
    .references(() => periods.periodKey),
  action: text('action', { enum: ['close', 'reopen'] }).notNull(),
  at: text('at').notNull(),
  actor: text('actor').notNull(),
  note: text('note').notNull(),
  /** 1 when a close was refused and forced; `overridden` is the JSON array of the reasons. */
  forced: integer('forced').notNull(),
  overridden: text('overridden').notNull(),
  /** The figures that a close freezes and a reopen gives up. */
  tenants: integer('tenants').notNull(),
  creditsUsed: int64('credits_used').notNull(),
  requestCount: int64('request_count').notNull(),
  /** The last entry of the ledger at that moment: the figures are the sums up to it. */
  lastEntryId: integer('last_entry_id').notNull(),
  previousDigest: text('previous_digest').notNull(),
  digest: text('digest').notNull(),
  /** Whose process it was, whatever `actor` says. */
  systemUser: text('system_user').notNull(),
});

export const closedUsage = sqliteTable('closed_usage', usageColumns, (table) => [
  primaryKey({ columns: [table.periodKey, table.tenantKey] }),
]);

export const adjustments = sqliteTable(
  'adjustments',
  {
    adjustmentId: rowKey('adjustment_id').primaryKey(),
    correctsPeriodKey: integer('corrects_period_key')
      .notNull()
      .references(() => periods.periodKey),
    tenantKey: integer('tenant_key')
      .notNull()
      .references(() => tenants.tenantKey),
    bookedPeriodKey: integer('booked_period_key')
      .notNull()
      .references(() => periods.periodKey),
    creditsDelta: int64('credits_delta').notNull(),
    requestsDelta: int64('requests_delta').notNull(),
    recordedAt: text('recorded_at').notNull(),
    /** The run and entry that brought it, or the reopen that took it back. */
    runKey: integer('run_key').references(() => runs.runKey),
    entryId: integer('entry_id'),
    eventSeq: integer('event_seq'),
  },
  (table) => [
    index('adjustments_by_key').on(table.correctsPeriodKey, table.tenantKey),
    index('adjustments_by_booking').on(table.bookedPeriodKey),
    index('adjustments_by_run').on(table.runKey),
    index('adjustments_by_event').on(table.eventSeq),
  ],
);

export const closeRecords: readonly TableRecord[] = [
  {
    table: periodEvents,
    says: 'A close or reopen of a period. It stands in the same digest chain as the runs. Append-only.',
  },
  {
    table: closedUsage,
    says: 'The figures of a key as its period was closed. Gone when the period is reopened.',
  },
  {
    table: adjustments,
    says: 'A correction after a close: closed figure + adjustments = what the service says. Append-only; a reopen reverses it.',
  },
];
