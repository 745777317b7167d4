import type { DocumentTenant, StatementDocument } from '../../billing/statement/document.ts';
import { counted } from '../../core/text/words.ts';
import type { InvoiceNumberLookup } from '../../ledger/journal/charges/invoice-numbers.ts';
import { type Column, formatDecimal, formatInteger } from '../formats/columns.ts';

type LineScope = Pick<StatementDocument, 'workspace_id' | 'period' | 'state'>;

/**
 * A line of a statement, with its tenant, workspace and period. A line of the kind `unpriced` means that no rate card
 * prices the tenant.
 */
export type StatementLine = LineScope &
  Pick<DocumentTenant, 'tenant_id' | 'display_name' | 'external_ref'> &
  Omit<DocumentTenant['lines'][number], 'kind' | 'amount_minor' | 'entry_id'> & {
    kind: string;
    invoice_number: string | null;
    statement_number: string | null;
  };

type LineWords = Pick<
  StatementLine,
  'kind' | 'tier' | 'credits' | 'amount' | 'corrects_period' | 'reason' | 'requests'
>;

const UNPRICED_LINE = {
  kind: 'unpriced',
  tier: null,
  unit_credits: null,
  unit_price: null,
  amount: null,
  currency: null,
  rate_card: null,
  corrects_period: null,
  reason: null,
  requests: null,
};

/** Yields a row for each line of each tenant. A tenant whom no rate card prices gets one row of the kind `unpriced`. */
export function* statementLines(
  { workspace_id, period, state }: LineScope,
  tenants: Iterable<DocumentTenant>,
  invoiceOf: InvoiceNumberLookup,
): Generator<StatementLine> {
  for (const { tenant_id, display_name, external_ref, credits_used, lines, statement_number = null } of tenants) {
    const of = { workspace_id, period, state, tenant_id, display_name, external_ref, statement_number };
    if (lines.length === 0) yield { ...of, ...UNPRICED_LINE, credits: credits_used, invoice_number: null };
    for (const { amount_minor: _, entry_id: __, ...line } of lines) {
      yield { ...of, ...line, invoice_number: invoiceOf(tenant_id, line.currency) };
    }
  }
}

export const STATEMENT_COLUMNS: readonly Column<StatementLine>[] = [
  { name: 'workspace_id', kind: 'id' },
  { name: 'period', kind: 'text' },
  { name: 'state', kind: 'text' },
  { name: 'tenant_id', kind: 'id', header: 'Tenant' },
  { name: 'display_name', kind: 'text', header: 'Name' },
  { name: 'external_ref', kind: 'id' },
  { name: 'kind', kind: 'text', header: 'Line', words: (_, line) => lineWords(line) },
  { name: 'tier', kind: 'count' },
  { name: 'credits', kind: 'credits', header: 'Credits' },
  { name: 'unit_credits', kind: 'credits' },
  { name: 'unit_price', kind: 'price', header: 'Price', words: (_, line) => priceWords(line) },
  { name: 'amount', kind: 'amount', header: 'Amount', sum: true },
  { name: 'currency', kind: 'text', header: '' },
  { name: 'rate_card', kind: 'text', header: 'Rate card' },
  { name: 'corrects_period', kind: 'text' },
  { name: 'invoice_number', kind: 'text', header: 'Invoice', sparse: true },
  { name: 'reason', kind: 'text' },
  { name: 'statement_number', kind: 'text', header: 'Number', sparse: true },
  { name: 'requests', kind: 'count' },
];

export function lineWords({ kind, tier, credits, amount, corrects_period, reason, requests }: LineWords): string {
  if (kind === 'requests') return counted(requests ?? 0n, 'request');
  if (kind === 'unpriced') return 'not priced';
  if (kind === 'manual') return reason ?? 'manual line';
  const why = reason === null ? '' : `: ${reason}`;
  if (kind === 'correction') return `correction of ${corrects_period}${amount === null ? ', not priced' : why}`;
  if (kind !== 'usage') return kind;
  if (tier === 0 && credits !== null && credits < 0n) return 'below 0, priced as 0';
  return tier === 0 ? 'included' : `usage, tier ${tier}`;
}

/**
 * Formats the unit price of a line: `0.0125`, or `9.50 / 1,000` if the price is for 1,000 credits. Returns an empty
 * text if the line has no unit price.
 */
export function priceWords({ unit_price, unit_credits }: Pick<StatementLine, 'unit_price' | 'unit_credits'>): string {
  if (unit_price === null) return '';
  const price = formatDecimal(unit_price);
  return unit_credits === null || unit_credits === 1n ? price : `${price} / ${formatInteger(unit_credits)}`;
}
