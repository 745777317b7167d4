import { amountReader, type DecimalMark } from '../../billing/reconcile/read-amount.ts';
import {
  type Cause,
  type ReconciledTenant,
  reconcile,
  type SideFigures,
  whyDifferent,
} from '../../billing/reconcile/reconcile.ts';
import type { StatementDocument } from '../../billing/statement/document.ts';
import { AppError, UsageError } from '../../core/errors.ts';
import { isCurrency } from '../../core/money.ts';
import type { Period } from '../../core/period.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { readingsOf } from '../../reports/queries/usage.ts';
import type { Context } from '../../wiring/context.ts';
import type { CsvRow } from '../shared/given-file.ts';

export interface MappedColumns {
  /** Holds ids of tenants, or what the ledger has as their references. */
  tenantColumn: string;
  creditsColumn?: string;
  amountColumn?: string;
  currencyColumn?: string;
  decimal?: DecimalMark;
}

export interface InvoiceLine {
  tenantId: string;
  credits: bigint | null;
  amountMinor: bigint | null;
  currency: string | null;
  /** The sign or code beside the amount, where it is not of the currency: then there is no amount. */
  otherCurrency: string | null;
}

/** A tenant's figures in one currency; null: amounts are not compared. */
export type ReconciledRow = ReconciledTenant & {
  currency: string | null;
  /** The signs or codes of other currencies on its lines of the invoice. */
  otherCurrencies: string[];
};

/**
 * Sets ledger, service and invoices side by side, each of the currencies by itself: what a tenant used counts beside the
 * amount of its own charge, and beside none of another currency.
 */
export function reconcileByCurrency(
  statement: StatementDocument,
  service: ReadonlyMap<string, SideFigures> | null,
  invoices: readonly InvoiceLine[],
  {
    currencies,
    toleranceOf,
  }: { currencies: readonly (string | null)[]; toleranceOf: (currency: string | null) => bigint },
): ReconciledRow[] {
  const [first = null] = currencies;
  const homes = new Map(
    statement.tenants.map(({ tenant_id, lines, totals }) => {
      const own = lines.find(({ kind }) => kind !== 'correction')?.currency ?? totals[0]?.currency ?? null;
      return [tenant_id, first === null ? null : (own ?? first)];
    }),
  );
  const homeOf = (tenantId: string): string | null => (homes.has(tenantId) ? (homes.get(tenantId) ?? null) : first);
  const rows = currencies.flatMap((currency) => {
    const ledger = new Map<string, SideFigures>();
    for (const { tenant_id, credits_used, totals } of statement.tenants) {
      const amountMinor = totals.find((total) => total.currency === currency)?.amount_minor ?? null;
      const isHome = homeOf(tenant_id) === currency;
      if (isHome || amountMinor !== null) ledger.set(tenant_id, { credits: isHome ? credits_used : null, amountMinor });
    }
    const own = service === null ? null : [...service].filter(([tenantId]) => homeOf(tenantId) === currency);
    const found = reconcile({
      ledger,
      service: own === null ? null : new Map(own),
      invoice: sumOf(invoices.filter((line) => line.currency === currency)),
      toleranceMinor: toleranceOf(currency),
    });
    const strange = invoices.filter((line) => line.currency === currency && line.otherCurrency !== null);
    const byTenant = Map.groupBy(strange, ({ tenantId }) => tenantId);
    return found.map((tenant): ReconciledRow => {
      const marks = byTenant.get(tenant.tenantId)?.flatMap(({ otherCurrency }) => otherCurrency ?? []) ?? [];
      const status = marks.length > 0 && tenant.status === 'matched' ? 'different' : tenant.status;
      return { ...tenant, status, currency, otherCurrencies: [...new Set(marks)] };
    });
  });
  return rows.sort((a, b) => (a.tenantId < b.tenantId ? -1 : a.tenantId > b.tenantId ? 1 : 0));
}

/** An invoice may have several lines of one tenant. */
function sumOf(lines: readonly InvoiceLine[]): Map<string, SideFigures> {
  const sides = new Map<string, SideFigures>();
  for (const { tenantId, credits, amountMinor } of lines) {
    const before = sides.get(tenantId);
    sides.set(tenantId, {
      credits: credits === null ? null : credits + (before?.credits ?? 0n),
      amountMinor: amountMinor === null ? null : amountMinor + (before?.amountMinor ?? 0n),
    });
  }
  return sides;
}

export async function serviceSide(
  context: Context,
  workspaceId: string,
  period: Period,
  signal: AbortSignal,
): Promise<Map<string, SideFigures>> {
  const workspace = context.workspace(workspaceId);
  const client = await context.client(workspace);
  const found = new Map<string, SideFigures>();
  for (let page = 1; ; page += 1) {
    const query = { fromPeriod: period, toPeriod: period, page, perPage: workspace.perPage };
    const { usage, total_pages, total_records } = await client.getWorkspaceUsage(query, { signal });
    for (const item of usage) found.set(item.tenant_id, { credits: BigInt(item.credits_used), amountMinor: null });
    // An empty page ends the walk too: a service that announces pages without end must not keep us.
    if (page < total_pages && usage.length > 0) continue;
    if (found.size === total_records) return found;
    throw new AppError('listing_moved', 'the listing moved while it was read', { hint: 'try again', retryable: true });
  }
}

/** How files call a line of the sum of all others, in the tenant's column. */
const TOTAL = /^(?:|(?:grand |sub)?total\b.*|gesamt.*|summe\b.*|somme\b.*|sum)$/i;

/**
 * What the file says, by the columns that it is mapped by; `currency` is that of a file without a column of it. A line
 * that says the sum of all others is checked, and left out. Throws UsageError with the line and the column of what
 * cannot be read.
 */
export function readInvoices(
  rows: readonly CsvRow[],
  columns: MappedColumns,
  { statement, currency: only }: { statement: StatementDocument; currency: string | null },
): InvoiceLine[] {
  const { tenantColumn, creditsColumn, amountColumn, currencyColumn, decimal } = columns;
  const tenantOf = tenantsByReference(statement);
  const texts = amountColumn === undefined ? [] : rows.map(({ record }) => record[amountColumn] ?? '');
  const toMinor = amountReader(texts, decimal);
  const lineOf = (row: CsvRow): InvoiceLine => {
    const { record } = row;
    const tenantId = tenantOf(record[tenantColumn] ?? '');
    if (tenantId === null) return refuse(row, tenantColumn, 'is the reference of several tenants', 'give their ids');
    const credits = creditsColumn === undefined ? null : parseCredits(record[creditsColumn] ?? '');
    if (creditsColumn !== undefined && credits === null) {
      refuse(row, creditsColumn, 'is no whole number of credits', 'write credits such as 1234');
    }
    const named = currencyColumn === undefined ? only : (record[currencyColumn] ?? '').trim().toUpperCase();
    const line = { tenantId, credits, amountMinor: null, currency: null, otherCurrency: null };
    if (amountColumn === undefined || named === null) return line;
    if (!isCurrency(named))
      return refuse(row, currencyColumn ?? '', 'is not a currency of ISO 4217', 'write it such as EUR');
    const amount = toMinor(record[amountColumn] ?? '', named);
    if (amount === null) {
      const hint = 'write amounts such as 1234.50, no finer than the currency, or say --decimal point or comma';
      return refuse(row, amountColumn, 'is no amount, or can be read in two ways', hint);
    }
    if ('otherCurrency' in amount) return { ...line, currency: named, otherCurrency: amount.otherCurrency };
    return { ...line, currency: named, amountMinor: amount.minor };
  };
  const known = new Set(statement.tenants.map(({ tenant_id }) => tenant_id));
  const read = rows.map((row) => ({ row, line: lineOf(row) }));
  const isTotal = ({ line: { tenantId } }: (typeof read)[number]): boolean =>
    TOTAL.test(tenantId.trim()) && !known.has(tenantId);
  const lines = read.filter((one) => !isTotal(one)).map(({ line }) => line);
  for (const { row, line } of read.filter(isTotal)) {
    const others = lines.filter(({ currency }) => currency === line.currency);
    const sum = sumOf(others.map((other) => ({ ...other, tenantId: line.tenantId }))).get(line.tenantId);
    if (sum?.credits === line.credits && sum.amountMinor === line.amountMinor) continue;
    refuse(row, tenantColumn, 'is no tenant, and its line not the sum of the others', 'take the line out of the file');
  }
  return lines;
}

function refuse({ line, record }: CsvRow, column: string, why: string, hint: string): never {
  throw new UsageError(`line ${line}, column ${column}: ${JSON.stringify(record[column])} ${why}`, hint);
}

/** Gives the tenant of an id or of a reference; what is neither stays as it is, and null stands for several. */
function tenantsByReference({ tenants }: StatementDocument): (text: string) => string | null {
  const ids = new Set(tenants.map(({ tenant_id }) => tenant_id));
  const byReference = Map.groupBy(tenants, ({ external_ref }) => external_ref);
  return (text) => {
    if (ids.has(text)) return text;
    const [found, another] = byReference.get(text) ?? [];
    return another === undefined ? (found?.tenant_id ?? text) : null;
  };
}

function parseCredits(text: string): bigint | null {
  const tight = text.replaceAll(/[\s\u00a0\u202f'’]/g, '');
  const grouped = /^-?\d{1,3}(?:([.,])\d{3}(?:\1\d{3})*)$/.test(tight) ? tight.replaceAll(/[.,]/g, '') : tight;
  return /^-?\d{1,19}$/.test(grouped) ? BigInt(grouped) : null;
}

export function causes(
  connection: LedgerConnection,
  { workspace_id: workspaceId, period, tenants }: StatementDocument,
): (row: ReconciledRow) => Cause | null {
  const byId = new Map(tenants.map((tenant) => [tenant.tenant_id, tenant]));
  const price = creditPricer(connection, workspaceId);
  return ({ tenantId, status, currency, otherCurrencies, ledger, service, invoice }) => {
    if (otherCurrencies.length > 0) return 'other_currency';
    if (status !== 'different' || ledger === null) return null;
    const lines = byId.get(tenantId)?.lines.filter((line) => line.currency === currency) ?? [];
    const corrections = lines.filter(({ kind }) => kind === 'correction');
    const earlier = readingsOf(connection, { workspaceId, period, tenantId }).map((credits) => {
      const priced = price(tenantId, period, credits);
      return { credits, amountMinor: priced?.currency === currency ? priced.amountMinor : null };
    });
    const correctedMinor = corrections.reduce((sum, { amount_minor: amount }) => sum + (amount ?? 0n), 0n);
    return whyDifferent({ ledger, service, invoice }, { lines: lines.length, correctedMinor, earlier });
  };
}
