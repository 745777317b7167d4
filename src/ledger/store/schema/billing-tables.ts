import { index, int64, integer, primaryKey, rowKey, sqliteTable, text, uniqueIndex } from './drizzle.ts';
import type { TableRecord } from './rows.ts';
import { runs, usageColumns } from './run-tables.ts';
import { periods, tenants, workspaces } from './workspace-tables.ts';

/**
 * Tables of names and money. `after_seq` is the head of the chain when a row was recorded: it held for every close with a
 * higher position, whatever was recorded since.
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
    /** JSON object of texts. */
    labels: text('labels').notNull(),
    recordedAt: text('recorded_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenantKey, table.afterSeq] })],
);

/** What a card says: what tenants are charged, or what the provider charges for them. */
export const CARD_SIDES = ['price', 'cost'] as const;
export type CardSide = (typeof CARD_SIDES)[number];

export const rateCards = sqliteTable('rate_cards', {
  cardKey: rowKey('card_key').primaryKey(),
  name: text('name').notNull(),
  currency: text('currency').notNull(),
  /** SHA-256 of the definition, hex. */
  digest: text('digest').notNull(),
  /** The card as it was written, as JSON. */
  definition: text('definition').notNull(),
  /** `configuration` or `import`. */
  source: text('source').notNull(),
  recordedAt: text('recorded_at').notNull(),
  afterSeq: integer('after_seq').notNull(),
  retiredAt: text('retired_at'),
  retiredAfterSeq: integer('retired_after_seq'),
  /** Of a major unit of the currency: 100 for EUR, 1 for JPY. */
  minorUnits: integer('minor_units').notNull().default(100),
  side: text('side', { enum: CARD_SIDES }).notNull(),
});

/** Of a workspace as its last applied run had them in its configuration: the first, by `place`, that fits a tenant counts. */
export const budgets = sqliteTable(
  'budgets',
  {
    workspaceKey: integer('workspace_key')
      .notNull()
      .references(() => workspaces.workspaceKey),
    place: integer('place').notNull(),
    /** For SQLite's GLOB; null: the workspace as a whole. */
    tenantGlob: text('tenant_glob'),
    /** Null, like the next two, for a budget of the other kind. */
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
    /** Null: beyond 64 bits; then there are no lines. */
    amountMinor: int64('amount_minor'),
    /** These three: the charge is one line of all its credits, of which there is no row in `charge_lines`. */
    tier: integer('tier'),
    unitCredits: integer('unit_credits'),
    unitPrice: text('unit_price'),
  },
  (table) => [primaryKey({ columns: [table.periodKey, table.tenantKey] })],
);

/** Of open and closed periods alike by the figures and the cost cards of now: no document has it, so nothing freezes it. */
export const costs = sqliteTable(
  'costs',
  {
    periodKey: integer('period_key').notNull(),
    tenantKey: integer('tenant_key').notNull(),
    cardKey: integer('card_key').notNull(),
    /** Null: beyond 64 bits. */
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
    /** Of a line of kind `requests`. */
    requests: int64('requests'),
  },
  (table) => [primaryKey({ columns: [table.periodKey, table.tenantKey, table.lineNumber] })],
);

/**
 * Why a correction was booked: a run brought other figures, withdrew the tenant or showed it again; a reopen; a line by hand
 * that came, or was revoked, after the close.
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
    /** Null: no card prices the tenant. */
    cardKey: integer('card_key'),
    creditsDelta: int64('credits_delta').notNull(),
    /** Null: it cannot be priced. */
    amountMinor: int64('amount_minor'),
    cause: text('cause', { enum: CORRECTION_CAUSES }).notNull(),
    /** The adjustment beside which it stands. */
    adjustmentId: integer('adjustment_id'),
    /** The line by hand whose money it is, in the currency of that line; then there is no card. */
    lineId: integer('line_id'),
  },
  (table) => [
    index('charge_corrections_by_key').on(table.correctsPeriodKey, table.tenantKey),
    index('charge_corrections_by_booking').on(table.bookedPeriodKey, table.tenantKey),
  ],
);

/** Its document has a line that was in force at the close; see `dueOf` for what comes later. */
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
    /** As those of a card. */
    minorUnits: integer('minor_units').notNull(),
    /** Its tenant reads it. */
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
  /** Hex. */
  root: text('root').notNull(),
  /** Hex. Who has it can guess what the leaves say. */
  salt: text('salt').notNull(),
  /** How the statements are numbered, such as `2026-{seq:0000}`, and the last number that this close has given; null: not at all. */
  numberForm: text('number_form'),
  lastNumber: integer('last_number'),
  /** SHA-256 of the letterhead, hex. */
  letterhead: text('letterhead'),
});

export const letterheads = sqliteTable('letterheads', {
  /** Of the content, hex. */
  sha256: text('sha256').primaryKey(),
  /** JSON, as it stands in statements. */
  content: text('content').notNull(),
});

/** Numbers of statements, in the order of the tenants' ids; those of a close that was given up stay given. */
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

/** What a comparison with the invoices of a closed period has found; `act_seq` is its link of the chain. */
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
    /** Hex. */
    fileSha256: text('file_sha256').notNull(),
    /** Counts of tenants. */
    matched: integer('matched').notNull(),
    missing: integer('missing').notNull(),
    extra: integer('extra').notNull(),
    different: integer('different').notNull(),
    tolerance: text('tolerance').notNull(),
    /** JSON array of objects with `currency`, `ledger` and `invoice`. */
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

export const billingRecords: readonly TableRecord[] = [
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
      label: "'line by hand ' || ROW.line_id",
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
  },
  {
    table: closedUsage,
  },
  {
    table: adjustments,
  },
];
