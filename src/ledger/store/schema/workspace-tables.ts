import { blob, index, integer, rowKey, sqliteTable, text, uniqueIndex } from './drizzle.ts';
import type { TableRecord } from './rows.ts';

/**
 * The tables of the ledger are the files `*-tables.ts` of this folder. They are ours to change; the `finance_*` views
 * (drizzle/views.sql) are the contract. To change a table: here and in the last migration of `drizzle`, or in a new one when
 * that one is released, with a higher `when` in the journal. From the record of each table come its guard, its mirror in the
 * replica, its part in the move of a workspace and its line in docs/ledger.md. Views: in `drizzle/views.sql`, which every
 * migration makes anew, and in scripts/ledger-columns.mjs. Tests find what was forgotten.
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

export const workspaceMoves = sqliteTable(
  'workspace_moves',
  {
    moveKey: rowKey('move_key').primaryKey(),
    workspaceKey: integer('workspace_key')
      .notNull()
      .references(() => workspaces.workspaceKey),
    /** `keep` takes an export back. */
    action: text('action', { enum: ['export', 'keep', 'import'] }).notNull(),
    at: text('at').notNull(),
    actor: text('actor').notNull(),
    /** The ledger that an imported workspace came from; null for an export. */
    ledgerId: text('ledger_id'),
    /** The head of the chain at that moment; of an import that of the ledger which it came from. */
    position: integer('position').notNull(),
    headDigest: text('head_digest').notNull(),
    /** Position in the chain, shared with `runs.applied_seq`. Null, like the three below, in moves from before they were links. */
    moveSeq: integer('move_seq').unique(),
    previousDigest: text('previous_digest'),
    digest: text('digest'),
    /** The row changes up to this one are part of the digest. */
    lastChangeSeq: integer('last_change_seq'),
  },
  (table) => [index('workspace_moves_by_workspace').on(table.workspaceKey)],
);

export const movedLinks = sqliteTable('moved_links', {
  /** Position in this chain. */
  seq: integer('seq').primaryKey(),
  /** The ledger in which the link was made, and its place and digest there. */
  ledgerId: text('ledger_id').notNull(),
  originSeq: integer('origin_seq').notNull(),
  originDigest: text('origin_digest').notNull(),
  /** The first entry of a run there: a close commits to the numbers that entries had. Null when it has none. */
  originFirstEntryId: integer('origin_first_entry_id'),
  /** Which rate cards held for it: those whose source is `moved` and this number. */
  cardSet: integer('card_set').notNull(),
});

export const workspaceRecords: readonly TableRecord[] = [
  { table: ledgerMeta, says: "A value by name, such as the ledger's id.", mirrored: 'whole', moved: false },
  { table: workspaces, says: 'A workspace.', mirrored: 'whole', moved: true },
  { table: tenants, says: 'A tenant of a workspace.', mirrored: 'added', moved: true },
  { table: periods, says: 'A period of a workspace.', mirrored: 'whole', moved: true },
  {
    table: workspaceMoves,
    says: 'An export or import of a workspace, or the keeping of one after all. It stands in the same digest chain as the runs. Append-only. After an export no run, close or reopen of it follows here.',
    // What makes it a link is proven by the chain.
    guard: {
      label: "ROW.action || ' of a workspace (' || ROW.move_key || ')'",
      except: ['move_seq', 'previous_digest', 'digest', 'last_change_seq'],
    },
    mirrored: 'whole',
    moved: false,
  },
  {
    table: movedLinks,
    says: 'A link of the chain that was brought from another ledger, with what it was there; part of its digest. Append-only.',
    mirrored: 'changed',
    moved: true,
  },
];
