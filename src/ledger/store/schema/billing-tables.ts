import { index, int64, integer, primaryKey, rowKey, sqliteTable, text, uniqueIndex } from './drizzle.ts';
import type { TableProperties } from './rows.ts';
import { runs, usageColumns } from './run-tables.ts';
import { periods, tenants, workspaces } from './workspace-tables.ts';

/**
 * Tables of names and money. `after_seq` is the last position of the chain when a row was recorded. The row applies to
 * every close at a higher position.
 */

export const tenantNames = sqliteTable(
  'tenant_names',
  {
    tenantKey: integer('tenant_key')
      .notNull()
      .references(() => tenants.tenantKey),
    afterSeq: integer('after_seq').notNull(),
    displayName: text('display_name'),
    externalRef: text('external_ref'),
    /** The labels of the tenant, as a JSON object with text values. */
    labels: text('labels').notNull(),
    recordedAt: text('recorded_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantKey, table.afterSeq] })],
);

/** `price` cards set what tenants are charged; `cost` cards set what the provider charges. */
export const CARD_SIDES = ['price', 'cost'] as const;
export type CardSide = (typeof CARD_SIDES)[number];

export const rateCards = sqliteTable('rate_cards', {
  cardKey: rowKey('card_key').primaryKey(),
  name: text('name').notNull(),
  currency: text('currency').notNull(),
  /** SHA-256 of `definition`, in hex. */
  digest: text('digest').notNull(),
  /** The card's JSON, unchanged from the configuration or the imported file. */
  definition: text('definition').notNull(),
  /** Where the card comes from: `configuration` or `import`. */
  source: text('source').notNull(),
  recordedAt: text('recorded_at').notNull(),
  afterSeq: integer('after_seq').notNull(),
  retiredAt: text('retired_at'),
  retiredAfterSeq: integer('retired_after_seq'),
  /** Minor units per major unit of the currency: 100 for EUR, 1 for JPY. */
  minorUnits: integer('minor_units').notNull().default(100),
  side: text('side', { enum: CARD_SIDES }).notNull(),
});

/**
 * The budgets that the configuration had for a workspace at its last applied run. To a tenant applies the first
 * matching budget, in the order of `place`.
 */
export const budgets = sqliteTable(
  'budgets',
  {
    workspaceKey: integer('workspace_key')
      .notNull()
      .references(() => workspaces.workspaceKey),
    place: integer('place').notNull(),
    /** Pattern of tenant ids for SQLite's GLOB; null: the budget is for the whole workspace. */
    tenantGlob: text('tenant_glob'),
    /** A budget in credits; null for a budget of money, which has an amount and a currency instead. */
    credits: int64('credits'),
    amountMinor: int64('amount_minor'),
    currency: text('currency'),
  },
  (table) => [primaryKey({ columns: [table.workspaceKey, table.place] })],
);

export const charges = sqliteTable(
  'charges',
  {
    periodKey: integer('period_key').notNull(),
    tenantKey: integer('tenant_key').notNull(),
    cardKey: integer('card_key').notNull(),
    creditsUsed: int64('credits_used').notNull(),
    /** The amount; null when it exceeds 64 bits. Such a charge has no lines. */
    amountMinor: int64('amount_minor'),
    /**
     * The tier, units and price of a charge that consists of one line for all its credits. Such a charge has no row in
     * `charge_lines`; for other charges these columns are null.
     */
    tier: integer('tier'),
    unitCredits: integer('unit_credits'),
    unitPrice: text('unit_price'),
  },
  (table) => [primaryKey({ columns: [table.periodKey, table.tenantKey] })],
);

/**
 * What the provider charges in open and closed periods, by the current figures and cost cards. No document contains
 * costs, so a close does not freeze them.
 */
export const costs = sqliteTable(
  'costs',
  {
    periodKey: integer('period_key').notNull(),
    tenantKey: integer('tenant_key').notNull(),
    cardKey: integer('card_key').notNull(),
    /** The cost; null when it exceeds 64 bits. */
    amountMinor: int64('amount_minor'),
  },
  (table) => [primaryKey({ columns: [table.periodKey, table.tenantKey] })],
);

export const chargeLines = sqliteTable(
  'charge_lines',
  {
    periodKey: integer('period_key').notNull(),
    tenantKey: integer('tenant_key').notNull(),
    lineNumber: integer('line_number').notNull(),
    kind: text('kind', { enum: ['usage', 'requests', 'minimum', 'discount'] }).notNull(),
    tier: integer('tier'),
    credits: int64('credits'),
    unitCredits: integer('unit_credits'),
    unitPrice: text('unit_price'),
    amountMinor: int64('amount_minor').notNull(),
    /** The number of requests, for a line of kind `requests`; null for other lines. */
    requests: int64('requests'),
  },
  (table) => [primaryKey({ columns: [table.periodKey, table.tenantKey, table.lineNumber] })],
);

/**
 * Why a correction was booked. By a run: figures changed (`usage`), a tenant was withdrawn, or a withdrawn tenant was
 * listed again (`return`). By a person: a reopen, or a manual line that was added or revoked after the close.
 */
export const CORRECTION_CAUSES = ['usage', 'withdrawal', 'return', 'reopen', 'line', 'revocation'] as const;
export type CorrectionCause = (typeof CORRECTION_CAUSES)[number];

export const chargeCorrections = sqliteTable(
  'charge_corrections',
  {
    correctionId: rowKey('correction_id').primaryKey(),
    bookedPeriodKey: integer('booked_period_key').notNull(),
    tenantKey: integer('tenant_key').notNull(),
    correctsPeriodKey: integer('corrects_period_key').notNull(),
    /** The rate card; null when no card prices the tenant. */
    cardKey: integer('card_key'),
    creditsDelta: int64('credits_delta').notNull(),
    /** The amount; null when it cannot be priced. */
    amountMinor: int64('amount_minor'),
    cause: text('cause', { enum: CORRECTION_CAUSES }).notNull(),
    /** The adjustment of credits that this correction belongs to; null if it belongs to none. */
    adjustmentId: integer('adjustment_id'),
    /**
     * The corrected manual line, whose currency applies. Null for a correction of usage, for which the currency of the
     * card applies.
     */
    lineId: integer('line_id'),
  },
  (table) => [
    index('charge_corrections_by_key').on(table.correctsPeriodKey, table.tenantKey),
    index('charge_corrections_by_booking').on(table.bookedPeriodKey, table.tenantKey),
  ],
);

/**
 * Manual lines. A document contains the lines in force at its close; a line added or revoked later is booked as a
 * correction by `correctLine`.
 */
export const manualLines = sqliteTable(
  'manual_lines',
  {
    lineId: rowKey('line_id').primaryKey(),
    periodKey: integer('period_key')
      .notNull()
      .references(() => periods.periodKey),
    tenantKey: integer('tenant_key')
      .notNull()
      .references(() => tenants.tenantKey),
    amountMinor: int64('amount_minor').notNull(),
    currency: text('currency').notNull(),
    /** Minor units per major unit, as in `rate_cards`. */
    minorUnits: integer('minor_units').notNull(),
    /** The reason for the line, which the tenant's statement shows. */
    reason: text('reason').notNull(),
    actor: text('actor').notNull(),
    recordedAt: text('recorded_at').notNull(),
    afterSeq: integer('after_seq').notNull(),
    revokedAt: text('revoked_at'),
    revokedBy: text('revoked_by'),
    revokedBecause: text('revoked_because'),
    revokedAfterSeq: integer('revoked_after_seq'),
  },
  (table) => [index('manual_lines_by_key').on(table.periodKey, table.tenantKey)],
);

export const closeCommitments = sqliteTable('close_commitments', {
  eventSeq: integer('event_seq').primaryKey(),
  leaves: integer('leaves').notNull(),
  /** The root of the tree that the close commits to, in hex. */
  root: text('root').notNull(),
  /** The secret of the close, in hex. Anyone who knows it can test guesses of the content of the leaves. */
  salt: text('salt').notNull(),
  /**
   * The number format of the statements, such as `2026-{seq:0000}`. `last_number` is the last number that this close
   * assigned. Both are null for statements without numbers.
   */
  numberForm: text('number_form'),
  lastNumber: integer('last_number'),
  /** SHA-256 of the letterhead, hex. */
  letterhead: text('letterhead'),
});

export const letterheads = sqliteTable('letterheads', {
  /** SHA-256 of the content, hex. */
  sha256: text('sha256').primaryKey(),
  /** The letterhead as JSON, in the form that statements contain. */
  content: text('content').notNull(),
});

/**
 * Statement numbers, assigned in the order of tenant ids. The numbers of a close that was reopened are not used again.
 */
export const statementNumbers = sqliteTable(
  'statement_numbers',
  {
    closeSeq: integer('close_seq').notNull(),
    tenantKey: integer('tenant_key')
      .notNull()
      .references(() => tenants.tenantKey),
    periodKey: integer('period_key').notNull(),
    number: text('number').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.closeSeq, table.tenantKey] }),
    uniqueIndex('statement_numbers_by_number').on(table.number),
  ],
);

/** Results of comparing a closed period with its invoices; `act_seq` is the position in the chain. */
export const reconciliations = sqliteTable(
  'reconciliations',
  {
    actSeq: integer('act_seq').primaryKey(),
    periodKey: integer('period_key')
      .notNull()
      .references(() => periods.periodKey),
    closeSeq: integer('close_seq')
      .notNull()
      .references(() => periodEvents.eventSeq),
    fileName: text('file_name').notNull(),
    /** SHA-256 of the invoice file, in hex. */
    fileSha256: text('file_sha256').notNull(),
    /** The numbers of tenants for each result of the comparison. */
    matched: integer('matched').notNull(),
    missing: integer('missing').notNull(),
    extra: integer('extra').notNull(),
    different: integer('different').notNull(),
    tolerance: text('tolerance').notNull(),
    /** The compared totals: a JSON array of objects with `currency`, `ledger` and `invoice`. */
    amounts: text('amounts').notNull(),
  },
  (table) => [index('reconciliations_by_close').on(table.closeSeq)],
);

export const invoiceNumbers = sqliteTable(
  'invoice_numbers',
  {
    actSeq: integer('act_seq').notNull(),
    tenantKey: integer('tenant_key')
      .notNull()
      .references(() => tenants.tenantKey),
    currency: text('currency').notNull(),
    periodKey: integer('period_key').notNull(),
    closeSeq: integer('close_seq').notNull(),
    number: text('number').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.actSeq, table.tenantKey, table.currency] }),
    index('invoice_numbers_by_close').on(table.closeSeq, table.tenantKey, table.currency),
  ],
);

export const billingTableProperties: readonly TableProperties[] = [
  {
    table: tenantNames,
    guard: {
      label: `'name of tenant '
        || coalesce((SELECT t.tenant_id FROM tenants t WHERE t.tenant_key = ROW.tenant_key), 'number ' || ROW.tenant_key)`,
    },
  },
  {
    table: rateCards,
    guard: {
      label: "'rate card ' || ROW.name || ' (' || ROW.card_key || ')'",
    },
  },
  { table: budgets },
  {
    table: charges,
  },
  {
    table: chargeLines,
  },
  { table: costs },
  {
    table: chargeCorrections,
    guard: {
      label: "'correction ' || ROW.correction_id",
    },
  },
  {
    table: manualLines,
    guard: {
      label: "'manual line ' || ROW.line_id",
    },
  },
  {
    table: closeCommitments,
  },
  { table: letterheads },
  { table: statementNumbers },
  {
    table: reconciliations,
    guard: {
      label: "'reconciliation (link ' || ROW.act_seq || ')'",
    },
  },
  {
    table: invoiceNumbers,
    guard: {
      label: "'invoice number ' || ROW.number",
    },
  },
];

export const periodEvents = sqliteTable('period_events', {
  /** Position in the chain, in the same sequence as `runs.applied_seq`. */
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
  /** 1 when a close was forced despite blockers; `overridden` is the JSON array of those blockers. */
  forced: integer('forced').notNull(),
  overridden: text('overridden').notNull(),
  /** The totals of the figures that a close freezes or a reopen releases. */
  tenants: integer('tenants').notNull(),
  creditsUsed: int64('credits_used').notNull(),
  requestCount: int64('request_count').notNull(),
  /** The last entry of the ledger at the time of the event. The totals are sums of the entries up to this entry. */
  lastEntryId: integer('last_entry_id').notNull(),
  previousDigest: text('previous_digest').notNull(),
  digest: text('digest').notNull(),
  /** The operating-system user of the process that recorded the event. */
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
    /**
     * The run and entry that caused the adjustment. Both are null for an adjustment that a reopen booked; `event_seq`
     * is then the reopen.
     */
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

export const closeTableProperties: readonly TableProperties[] = [
  {
    table: periodEvents,
  },
  {
    table: closedUsage,
  },
  {
    table: adjustments,
  },
];
