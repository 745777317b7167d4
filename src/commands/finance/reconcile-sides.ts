import type { InvoiceColumns } from '../../billing/reconcile/presets.ts';
import {
  type AmountFault,
  createAmountReader,
  type DecimalMark,
  type ReadAmount,
  readMinorAmount,
  readPlainAmount,
} from '../../billing/reconcile/read-amount.ts';
import {
  type Cause,
  findCause,
  type ReconciledTenant,
  reconcile,
  type SideFigures,
} from '../../billing/reconcile/reconcile.ts';
import { isPeriodCharge } from '../../billing/statement/billed.ts';
import type { StatementDocument } from '../../billing/statement/document.ts';
import { AppError, UsageError } from '../../core/errors.ts';
import { isCurrency } from '../../core/money.ts';
import type { Period } from '../../core/period.ts';
import type { Table, TableRow } from '../../input-files/table.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { readCreditReadings } from '../../reports/queries/usage.ts';
import type { Context } from '../../wiring/context.ts';
import { foldId, notKnown } from '../shared/choose-workspace.ts';

export interface MappedColumns extends InvoiceColumns {
  /** Holds ids of tenants, or what the ledger has as their references. */
  tenantColumn: string;
  decimal?: DecimalMark;
  /** Of amounts beside which no currency stands. */
  currency?: string;
}

export interface InvoiceLine {
  /** The tenant; several that share a reference are one customer. */
  tenantId: string;
  invoice: string | null;
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
  { currencies, customerOf, toleranceOf }: Comparison,
): ReconciledRow[] {
  const [first = null] = currencies;
  const homes = new Map(
    statement.tenants.map(({ tenant_id, lines, totals }) => {
      const own = lines.find(isPeriodCharge)?.currency ?? totals[0]?.currency ?? null;
      return [tenant_id, first === null ? null : (own ?? first)];
    }),
  );
  const homeOf = (tenantId: string): string | null => (homes.has(tenantId) ? (homes.get(tenantId) ?? null) : first);
  const rows = currencies.flatMap((currency) => {
    const ledger = statement.tenants.flatMap(({ tenant_id, credits_used, totals }) => {
      const amountMinor = totals.find((total) => total.currency === currency)?.amount_minor ?? null;
      const isHome = homeOf(tenant_id) === currency;
      if (!isHome && amountMinor === null) return [];
      return [{ tenantId: customerOf(tenant_id), credits: isHome ? credits_used : null, amountMinor }];
    });
    const own = [...(service ?? [])].filter(([tenantId]) => homeOf(tenantId) === currency);
    const found = reconcile({
      ledger: sumOf(ledger),
      service: service && sumOf(own.map(([id, figures]) => ({ tenantId: customerOf(id), ...figures }))),
      invoice: sumOf(invoices.filter((line) => line.currency === currency)),
      toleranceMinor: toleranceOf(currency),
    });
    const foreign = invoices.filter((line) => line.currency === currency && line.otherCurrency !== null);
    const byTenant = Map.groupBy(foreign, ({ tenantId }) => tenantId);
    return found.map((tenant): ReconciledRow => {
      const marks = byTenant.get(tenant.tenantId)?.flatMap(({ otherCurrency }) => otherCurrency ?? []) ?? [];
      const status = marks.length > 0 && tenant.status === 'matched' ? 'different' : tenant.status;
      return { ...tenant, status, currency, otherCurrencies: [...new Set(marks)] };
    });
  });
  return rows.sort((a, b) => (a.tenantId < b.tenantId ? -1 : a.tenantId > b.tenantId ? 1 : 0));
}

/** What is compared: `customerOf` gives the tenants that the file has under one reference one name. */
interface Comparison {
  currencies: readonly (string | null)[];
  customerOf: (tenantId: string) => string;
  toleranceOf: (currency: string | null) => bigint;
}

function sumOf(lines: readonly (SideFigures & { tenantId: string })[]): Map<string, SideFigures> {
  const sides = new Map<string, SideFigures>();
  const add = (a: bigint | null, b: bigint | null = null) => (a === null ? b : a + (b ?? 0n));
  for (const { tenantId, credits, amountMinor } of lines) {
    const before = sides.get(tenantId);
    sides.set(tenantId, {
      credits: add(credits, before?.credits),
      amountMinor: add(amountMinor, before?.amountMinor),
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
 * Reads the invoices from rows of a table, by the columns that it is mapped by; `currency` is that of a file without a column
 * of it. A row that totals all others is checked, and left out. Throws UsageError with the place of what cannot be read, and
 * where there is nothing but totals.
 */
export function readInvoices(
  { rows, place }: Table,
  columns: MappedColumns,
  { customers, currency: only }: { customers: Customers; currency: string | null },
): InvoiceLine[] {
  const { tenantColumn, creditsColumn, amountColumn, currencyColumn, invoiceColumn, signColumn } = columns;
  const readAmount = amountColumn === undefined ? null : amountsIn(rows, amountColumn, columns);
  const refuse = (row: TableRow, column: string, why: string, hint: string): never => {
    throw new UsageError(`${place(row, column)}: ${JSON.stringify(row.record[column])} ${why}`, hint);
  };
  const lineOf = (row: TableRow): InvoiceLine => {
    const { record } = row;
    const tenantId = customers.customerOf(record[tenantColumn] ?? '');
    const credits = creditsColumn === undefined ? null : creditsIn(row, creditsColumn);
    if (creditsColumn !== undefined && credits === null) {
      refuse(row, creditsColumn, 'is not a whole number of credits', 'write credits such as 1234');
    }
    const said = currencyColumn === undefined ? only : (record[currencyColumn] ?? '').trim().toUpperCase();
    const named = said === '' ? (columns.currency ?? said) : said;
    const invoice = (invoiceColumn === undefined ? '' : (record[invoiceColumn] ?? '').trim()) || null;
    const line = { tenantId, invoice, credits, amountMinor: null, currency: null, otherCurrency: null };
    if (amountColumn === undefined || readAmount === null || named === null) return line;
    if (!isCurrency(named))
      return refuse(row, currencyColumn ?? '', 'is not a currency of ISO 4217', 'write it such as EUR');
    const amount = readAmount(row, named);
    if ('fault' in amount) {
      const date = /^\d{4}-\d\d-\d\d/.test(record[amountColumn] ?? '') ? 'is a date, not an amount' : null;
      const [why, hint] = columns.minorUnits === true ? NOT_MINOR_UNITS : AMOUNT_FAULTS[amount.fault];
      return refuse(row, amountColumn, date ?? why, hint);
    }
    if ('otherCurrency' in amount) return { ...line, currency: named, otherCurrency: amount.otherCurrency };
    const isOff = signColumn !== undefined && record[signColumn]?.trim() === 'H';
    return { ...line, currency: named, amountMinor: isOff ? -amount.minor : amount.minor };
  };
  const read = rows.map((row) => ({ row, line: lineOf(row) }));
  const isTotal = ({ row }: { row: TableRow }): boolean => {
    const text = row.record[tenantColumn] ?? '';
    return TOTAL.test(text.trim()) && !customers.knows(text);
  };
  const lines = read.filter((one) => !isTotal(one)).map(({ line }) => line);
  const [onlyTotal] = rows;
  if (lines.length === 0 && onlyTotal !== undefined) {
    refuse(onlyTotal, tenantColumn, 'is a total, and no row has a tenant', 'export the invoices again');
  }
  for (const { row, line } of read.filter(isTotal)) {
    const others = lines.filter(({ currency }) => currency === line.currency);
    const sum = sumOf(others.map((other) => ({ ...other, tenantId: line.tenantId }))).get(line.tenantId);
    if (sum?.credits === line.credits && sum.amountMinor === line.amountMinor) continue;
    refuse(row, tenantColumn, 'is not a tenant, and its row is not the total of the others', 'remove the row');
  }
  return lines;
}

const NOT_MINOR_UNITS = ['is not an amount in minor units', 'write whole numbers, such as 123450'] as const;
const AMOUNT_FAULTS: Readonly<Record<AmountFault, readonly [why: string, hint: string]>> = {
  not_an_amount: ['is not an amount', 'write amounts such as 1234.50'],
  ambiguous: ['is ambiguous', 'add --decimal point or --decimal comma'],
  too_fine: ['has more decimals than the currency', 'round it, in a workbook with =ROUND(...,2)'],
};

/** Numbers of a workbook are plain, so only its texts, and those of CSV, show which mark is the decimal one. */
function amountsIn(
  rows: readonly TableRow[],
  column: string,
  { minorUnits, decimal }: MappedColumns,
): (row: TableRow, currency: string) => ReadAmount {
  if (minorUnits === true) return ({ record }) => readMinorAmount(record[column] ?? '');
  const texts = rows.flatMap(({ record, numbers }) => (numbers.has(column) ? [] : (record[column] ?? '')));
  const readText = createAmountReader(texts, decimal);
  return ({ record, numbers }, currency) => {
    const text = record[column] ?? '';
    return numbers.has(column) ? readPlainAmount(text, currency) : readText(text, currency);
  };
}

/** In a workbook 1.234 is no whole number, whereas in a text it can be 1,234 with its thousands marked. */
function creditsIn({ record, numbers }: TableRow, column: string): bigint | null {
  const text = record[column] ?? '';
  if (!numbers.has(column)) return parseCredits(text);
  return /^-?\d{1,19}$/.test(text) ? BigInt(text) : null;
}

/** Points out each text that differs only in case or surrounding space from a tenant or a reference. */
export function noteMeantTenants({ rows, place }: Table, column: string, customers: Customers): string[] {
  const seen = new Set<string>();
  return rows.flatMap((row) => {
    const text = row.record[column] ?? '';
    const known = seen.has(text) ? null : customers.meantBy(text);
    seen.add(text);
    return known === null ? [] : [`${place(row, column)}: ${notKnown(text, known)}`];
  });
}

/** Who is billed: a tenant, or all that have the reference under which the file bills them. */
export class Customers {
  readonly #ids: ReadonlySet<string>;
  readonly #byReference: ReadonlyMap<string, readonly string[]>;
  readonly #customers = new Map<string, string>();
  #byFolded: ReadonlyMap<string, string> | null = null;

  /** `references` are those of now, by tenant; those of the statement come first, as they were when the month was closed. */
  constructor({ tenants }: StatementDocument, references: ReadonlyMap<string, string>, texts: Iterable<string>) {
    this.#ids = new Set(tenants.map(({ tenant_id }) => tenant_id));
    const then = Map.groupBy(tenants, ({ external_ref }) => external_ref ?? '');
    const now = Map.groupBy(tenants, ({ tenant_id }) => references.get(tenant_id) ?? '');
    const ids = (of: typeof then) => [...of].map(([ref, all]) => [ref, all.map(({ tenant_id }) => tenant_id)] as const);
    this.#byReference = new Map([...ids(now), ...ids(then)].filter(([reference]) => reference !== ''));
    for (const text of texts) {
      const owners = this.#ids.has(text) ? [] : (this.#byReference.get(text) ?? []);
      if (owners.length < 2) continue;
      const names = new Set(owners.flatMap((id) => this.tenantsOf(this.#customers.get(id) ?? id)));
      const customer = [...names].sort().join(TOGETHER);
      for (const id of names) this.#customers.set(id, customer);
    }
  }

  /** The name of a customer by one of its tenants or references; a text that is neither stays as it is. */
  readonly customerOf = (text: string): string => {
    const id = this.#ids.has(text) ? text : (this.#byReference.get(text)?.[0] ?? text);
    return this.#customers.get(id) ?? id;
  };

  knows(text: string): boolean {
    return this.#ids.has(text) || this.#byReference.has(text);
  }

  /** The tenant or reference that a text may mean which is neither; null: none. */
  meantBy(text: string): string | null {
    if (text.trim() === '' || this.knows(text)) return null;
    this.#byFolded ??= new Map([...this.#byReference.keys(), ...this.#ids].map((known) => [foldId(known), known]));
    return this.#byFolded.get(foldId(text)) ?? null;
  }

  tenantsOf(customer: string): string[] {
    return this.#ids.has(customer) ? [customer] : customer.split(TOGETHER).filter((id) => this.#ids.has(id));
  }
}

const TOGETHER = ' + ';

function parseCredits(text: string): bigint | null {
  const tight = text.replaceAll(/[\s\u00a0\u202f'’]/g, '');
  const grouped = /^-?\d{1,3}(?:([.,])\d{3}(?:\1\d{3})*)$/.test(tight) ? tight.replaceAll(/[.,]/g, '') : tight;
  return /^-?\d{1,19}$/.test(grouped) ? BigInt(grouped) : null;
}

export function causes(
  connection: LedgerDb,
  { workspace_id: workspaceId, period, tenants }: StatementDocument,
  customers: Customers,
): (row: ReconciledRow) => Cause | null {
  const byId = new Map(tenants.map((tenant) => [tenant.tenant_id, tenant]));
  const price = creditPricer(connection, workspaceId);
  return ({ tenantId: customer, status, currency, otherCurrencies, ledger, service, invoice }) => {
    if (otherCurrencies.length > 0) return 'other_currency';
    if (status !== 'different' || ledger === null) return null;
    const ids = customers.tenantsOf(customer);
    const lines = ids.flatMap((id) => byId.get(id)?.lines ?? []).filter((line) => line.currency === currency);
    const sumOfKind = (wanted: string): bigint =>
      lines.reduce((sum, line) => sum + (line.kind === wanted ? (line.amount_minor ?? 0n) : 0n), 0n);
    // What several had been read to have at one time nobody has put together.
    const earlier = (ids.length === 1 ? ids : []).flatMap((tenantId) =>
      readCreditReadings(connection, { workspaceId, period, tenantId }).map((credits) => {
        const priced = price(tenantId, period, credits);
        return { credits, amountMinor: priced?.currency === currency ? priced.amountMinor : null };
      }),
    );
    const [correctedMinor, manualMinor] = [sumOfKind('correction'), sumOfKind('manual')];
    return findCause({ ledger, service, invoice }, { lines: lines.length, correctedMinor, manualMinor, earlier });
  };
}
