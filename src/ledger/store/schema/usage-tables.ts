import { index, int64, integer, primaryKey, sqliteTable } from './drizzle.ts';
import { runs } from './run-tables.ts';

/** The current state: one row a (workspace, period, tenant). Equals the sum of the key's entries, always. */
export const tenantUsage = sqliteTable(
  'tenant_usage',
  {
    periodKey: integer('period_key').notNull(),
    tenantKey: integer('tenant_key').notNull(),
    creditsUsed: int64('credits_used').notNull(),
    requestCount: int64('request_count').notNull(),
    withdrawn: integer('withdrawn').notNull(),
    firstRunKey: integer('first_run_key').notNull(),
    changedRunKey: integer('changed_run_key').notNull(),
  },
  (table) => [primaryKey({ columns: [table.periodKey, table.tenantKey] })],
);

/** What happened, append-only: triggers abort UPDATE and DELETE. `kind` is a number, see ENTRY_KINDS. */
export const usageEntries = sqliteTable(
  'usage_entries',
  {
    entryId: integer('entry_id').primaryKey(),
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

/** Keys that the latest complete walk did not show, with the run that missed them first or asked for their tenant last. */
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
