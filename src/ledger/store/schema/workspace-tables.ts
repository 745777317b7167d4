import { blob, index, integer, rowKey, sqliteTable, text, uniqueIndex } from './drizzle.ts';
import type { TableProperties } from './rows.ts';

/**
 * The files `*-tables.ts` of this folder define the tables of the ledger. Tables are internal and may change; the
 * `finance_*` views (drizzle/views.sql) are the contract. To change a table, edit it here and in the last migration of
 * `drizzle`; when that one is released, add a new migration with a higher `when` in the journal. Each table's record
 * yields its guard and its line in docs/ledger.md. Views are defined in `drizzle/views.sql`, which every migration
 * recreates, and described in view-columns. Tests report forgotten steps.
 *
 * Workspaces, tenants and periods have internal integer keys, and `period_key` is `workspace_key * 131072 + months
 * since year 0`: the previous period has the previous key, and one period of one workspace is contiguous on disk.
 * Drizzle cannot express STRICT tables, WITHOUT ROWID and triggers, so the migrations contain these; only the triggers of
 * guarded tables are created by guards.ts.
 */

export const ledgerMeta = sqliteTable('ledger_meta', {
  name: text('name').primaryKey(),
  value: text('value').notNull(),
});

export const workspaces = sqliteTable('workspaces', {
  workspaceKey: rowKey('workspace_key').primaryKey(),
  workspaceId: text('workspace_id').notNull().unique(),
  name: text('name').notNull(),
  /**
   * The first applied run of the workspace; null if no run has been applied. Alerts of that run are recorded without
   * notifying anyone.
   */
  firstRunKey: integer('first_run_key'),
  /** The link of the chain that retired the workspace; null if the workspace is not retired. */
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
    /** Bounds of the period as the service reports them. They are never part of a key. */
    periodStart: text('period_start').notNull(),
    periodEnd: text('period_end').notNull(),
    /** The latest applied run with a verified walk over this period. */
    coveredRunKey: integer('covered_run_key'),
    /**
     * The run that evaluated the `settled` level of all tenants after the period had settled; null if no run has done
     * so.
     */
    finalRunKey: integer('final_run_key'),
    /** The event that closed the period; null while the period is open. */
    closedSeq: integer('closed_seq'),
    /**
     * The last run that found a record which an earlier walk had missed, so that two walks disagree about this period;
     * null: none.
     */
    unsteadyRunKey: integer('unsteady_run_key'),
    /** SHA-256 of the figures that the last run read for this period, see `FigureColumns`; null: not known. */
    figuresDigest: blob('figures_digest', { mode: 'buffer' }),
  },
  (table) => [uniqueIndex('periods_by_name').on(table.workspaceKey, table.period)],
);

export const acts = sqliteTable(
  'acts',
  {
    /** Position in the chain, in the same sequence as `runs.applied_seq`. */
    actSeq: integer('act_seq').primaryKey(),
    workspaceKey: integer('workspace_key')
      .notNull()
      .references(() => workspaces.workspaceKey),
    /** `elsewhere`: the workspace was retired because another ledger reads it. `resume` reverses a retirement. */
    action: text('action', { enum: ['end', 'elsewhere', 'resume', 'reconcile', 'line'] }).notNull(),
    at: text('at').notNull(),
    actor: text('actor').notNull(),
    note: text('note').notNull(),
    previousDigest: text('previous_digest').notNull(),
    digest: text('digest').notNull(),
    /** The last row change that the digest of the act covers. */
    lastChangeSeq: integer('last_change_seq').notNull(),
  },
  (table) => [index('acts_by_workspace').on(table.workspaceKey)],
);

export const workspaceTableProperties: readonly TableProperties[] = [
  { table: ledgerMeta },
  { table: workspaces },
  { table: tenants },
  { table: periods },
  {
    table: acts,
    // The columns listed here are left out because the check of the chain verifies them.
    guard: {
      label: "ROW.action || ' of a workspace (link ' || ROW.act_seq || ')'",
      except: ['previous_digest', 'digest', 'last_change_seq'],
    },
  },
];
