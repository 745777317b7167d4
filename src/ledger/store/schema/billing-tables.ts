import { index, int64, integer, primaryKey, rowKey, sqliteTable, text } from './drizzle.ts';
import type { TableRecord } from './rows.ts';
import { tenants } from './workspace-tables.ts';

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
});

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

export const chargeLines = sqliteTable(
  'charge_lines',
  {
    periodKey: integer('period_key').notNull(),
    tenantKey: integer('tenant_key').notNull(),
    lineNumber: integer('line_number').notNull(),
    kind: text('kind', { enum: ['usage', 'minimum', 'discount'] }).notNull(),
    tier: integer('tier'),
    credits: int64('credits'),
    unitCredits: integer('unit_credits'),
    unitPrice: text('unit_price'),
    amountMinor: int64('amount_minor').notNull(),
  },
  (table) => [primaryKey({ columns: [table.periodKey, table.tenantKey, table.lineNumber] })],
);

/** Why a correction was booked: a run brought other figures, withdrew the tenant or showed it again; a reopen. */
export const CORRECTION_CAUSES = ['usage', 'withdrawal', 'return', 'reopen'] as const;
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
  },
  (table) => [
    index('charge_corrections_by_key').on(table.correctsPeriodKey, table.tenantKey),
    index('charge_corrections_by_booking').on(table.bookedPeriodKey, table.tenantKey),
  ],
);

export const closeCommitments = sqliteTable('close_commitments', {
  eventSeq: integer('event_seq').primaryKey(),
  leaves: integer('leaves').notNull(),
  /** Hex. */
  root: text('root').notNull(),
  /** Hex. Who has it can guess what the leaves say. */
  salt: text('salt').notNull(),
});

export const billingRecords: readonly TableRecord[] = [
  {
    table: tenantNames,
    says: 'What people call a tenant. A name is never changed, a later row takes its place.',
    guard: {
      label: `'name of tenant '
        || coalesce((SELECT t.tenant_id FROM tenants t WHERE t.tenant_key = ROW.tenant_key), 'number ' || ROW.tenant_key)`,
    },
  },
  {
    table: rateCards,
    says: 'A rate card. What it says never changes; it goes out of force when another set of cards comes into it.',
    guard: { label: "'rate card ' || ROW.name || ' (' || ROW.card_key || ')'" },
  },
  {
    table: charges,
    says: 'What a tenant of a period is charged for its own credits; follows the figures until the period is closed.',
  },
  {
    table: chargeLines,
    says: 'A line of a charge that has several, or one that is no price of all its credits: they sum to the amount.',
  },
  {
    table: chargeCorrections,
    says: 'A difference between what a period owes and what was charged for it, booked in another one. Append-only.',
    guard: { label: "'correction ' || ROW.correction_id" },
  },
  {
    table: closeCommitments,
    says: "The Merkle tree over the statements that a close has committed to; part of the close's digest.",
  },
];
