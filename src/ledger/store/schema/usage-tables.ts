import { index, int64, integer, primaryKey, rowKey, sqliteTable } from './drizzle.ts';
import type { TableRecord } from './rows.ts';
import { runs } from './run-tables.ts';

/** What a period holds of a tenant; a close copies it as it is. */
export const usageColumns = {
  periodKey: integer('period_key').notNull(),
  tenantKey: integer('tenant_key').notNull(),
  creditsUsed: int64('credits_used').notNull(),
  requestCount: int64('request_count').notNull(),
  withdrawn: integer('withdrawn').notNull(),
  firstRunKey: integer('first_run_key').notNull(),
  changedRunKey: integer('changed_run_key').notNull(),
};

export const tenantUsage = sqliteTable('tenant_usage', usageColumns, (table) => [
  primaryKey({ columns: [table.periodKey, table.tenantKey] }),
]);

/** `kind` is a number, see ENTRY_KINDS. */
export const usageEntries = sqliteTable(
  'usage_entries',
  {
    entryId: rowKey('entry_id').primaryKey(),
    runKey: integer('run_key').notNull(),
    periodKey: integer('period_key').notNull(),
    tenantKey: integer('tenant_key').notNull(),
    kind: integer('kind').notNull(),
    creditsDelta: int64('credits_delta').notNull(),
    requestsDelta: int64('requests_delta').notNull(),
    creditsAfter: int64('credits_after').notNull(),
    requestsAfter: int64('requests_after').notNull(),
  },
  (table) => [index('usage_entries_by_key').on(table.periodKey, table.tenantKey)],
);

export const absences = sqliteTable(
  'absences',
  {
    periodKey: integer('period_key').notNull(),
    tenantKey: integer('tenant_key').notNull(),
    runKey: integer('run_key')
      .notNull()
      .references(() => runs.runKey),
  },
  (table) => [primaryKey({ columns: [table.periodKey, table.tenantKey] })],
);

export const usageRecords: readonly TableRecord[] = [
  { table: usageEntries, says: 'What happened to a key. Append-only.' },
  {
    table: tenantUsage,
    says: "The current state of a key. Equals the sum of the key's entries, always.",
  },
  {
    table: absences,
    says: 'A key that the latest complete walk did not show, with the run that missed it first or asked for its tenant last.',
  },
];
