import { blob, index, integer, rowKey, sqliteTable, text, uniqueIndex } from './drizzle.ts';
import type { TableRecord } from './rows.ts';

/**
 * The tables of the ledger are the files `*-tables.ts` of this folder. They are ours to change; the `finance_*` views
 * (drizzle/views.sql) are the contract. To change a table: here and in the last migration of `drizzle`, or in a new one when
 * that one is released, with a higher `when` in the journal. From the record of each table come its guard and its
 * line in docs/ledger.md. Views: in `drizzle/views.sql`, which every migration makes anew, and in scripts/ledger-columns.mjs. Tests find what was forgotten.
 *
 * Workspaces, tenants and periods have integer keys inside, and `period_key` is `workspace_key * 131072 + months since
 * year 0`: the key of the period before is one less, and one period of one workspace lies together on disk.
 * Three things drizzle cannot say stand in the migrations by hand: STRICT tables, WITHOUT ROWID and triggers but the guards'.
 */

export const ledgerMeta = sqliteTable('ledger_meta', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
});

export const workspaces = sqliteTable('workspaces', {
  workspaceKey: rowKey('workspace_key').primaryKey(),
  workspaceId: text('workspace_id').notNull().unique(),
  name: text('name').notNull(),
  /** The run that was applied first; null until then, and alerts of that run are seeded silently. */
  firstRunKey: integer('first_run_key'),
  /** The link of the chain that ended it; null while this ledger reads it. */
  endedSeq: integer('ended_seq'),
});

export const tenants = sqliteTable(
  'tenants',
  {
    tenantKey: rowKey('tenant_key').primaryKey(),
    workspaceKey: integer('workspace_key')
      .notNull()
      .references(() => workspaces.workspaceKey),
    tenantId: text('tenant_id').notNull(),
  },
  (table) => [uniqueIndex('tenants_by_id').on(table.workspaceKey, table.tenantId)],
);

export const periods = sqliteTable(
  'periods',
  {
    periodKey: integer('period_key').primaryKey(),
    workspaceKey: integer('workspace_key')
      .notNull()
      .references(() => workspaces.workspaceKey),
    period: text('period').notNull(),
    /** As the service says them; attributes, never part of a key. */
    periodStart: text('period_start').notNull(),
    periodEnd: text('period_end').notNull(),
    /** The latest applied run whose proven walk covered this period. */
    coveredRunKey: integer('covered_run_key'),
    /** The run that evaluated the `settled` level of all tenants, once the period was settled. */
    finalRunKey: integer('final_run_key'),
    /** The event that closed it; null while it is not closed. */
    closedSeq: integer('closed_seq'),
    /** The last run that showed again what an earlier walk had missed: the two do not agree on this period. */
    unsteadyRunKey: integer('unsteady_run_key'),
    /** SHA-256 of the figures that the run which covered it last has shown, see `FigureColumns`; null: not known. */
    figuresDigest: blob('figures_digest', { mode: 'buffer' }),
  },
  (table) => [uniqueIndex('periods_by_name').on(table.workspaceKey, table.period)],
);

export const acts = sqliteTable(
  'acts',
  {
    /** Position in the chain, shared with `runs.applied_seq`. */
    actSeq: integer('act_seq').primaryKey(),
    workspaceKey: integer('workspace_key')
      .notNull()
      .references(() => workspaces.workspaceKey),
    /** `elsewhere`: an end after which another ledger reads the workspace. `resume` takes an end back. */
    action: text('action', { enum: ['end', 'elsewhere', 'resume', 'reconcile', 'line'] }).notNull(),
    at: text('at').notNull(),
    actor: text('actor').notNull(),
    note: text('note').notNull(),
    previousDigest: text('previous_digest').notNull(),
    digest: text('digest').notNull(),
    /** The row changes up to this one are part of the digest. */
    lastChangeSeq: integer('last_change_seq').notNull(),
  },
  (table) => [index('acts_by_workspace').on(table.workspaceKey)],
);

export const workspaceRecords: readonly TableRecord[] = [
  { table: ledgerMeta },
  { table: workspaces },
  { table: tenants },
  { table: periods },
  {
    table: acts,
    // What makes it a link is proven by the chain.
    guard: {
      label: "ROW.action || ' of a workspace (link ' || ROW.act_seq || ')'",
      except: ['previous_digest', 'digest', 'last_change_seq'],
    },
  },
];
