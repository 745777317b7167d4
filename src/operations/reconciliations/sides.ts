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
import { AppError, InputError } from '../../core/errors.ts';
import { isCurrency } from '../../core/money.ts';
import type { Period } from '../../core/period.ts';
import type { Table, TableRow } from '../../input-files/table.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { readCreditReadings } from '../../reports/queries/usage.ts';
import type { Context } from '../../wiring/context.ts';
import { foldId, unknownTenantHint } from '../tenants/similar-ids.ts';

export interface MappedColumns extends InvoiceColumns {
  /** The column that names the tenants, by their ids or by the references that the ledger has for them. */
  tenantColumn: string;
  decimal?: DecimalMark;
  /** The currency of amounts in rows that name no currency. */
  currency?: string;
}

export interface InvoiceLine {
  /** The tenant's id. If several tenants share a reference, a name that stands for all of them. */
  tenantId: string;
  invoice: string | null;
  credits: bigint | null;
  amountMinor: bigint | null;
  currency: string | null;
  /** The currency sign or code next to the amount, if it contradicts the row's currency; `amountMinor` is then null. */
  otherCurrency: string | null;
}

/** The compared figures of a tenant in one currency. `currency` is null if only credits are compared. */
export type ReconciledRow = ReconciledTenant & {
  currency: string | null;
  /** Currency signs or codes on the tenant's invoice lines that contradict `currency`. */
  otherCurrencies: string[];
};

/**
 * Compares ledger, service and invoices separately for each currency. A tenant's credits are compared only in the
 * currency of its own charge.
 */
export function reconcileByCurrency(
  statement: StatementDocument,
  service: ReadonlyMap<string, SideFigures> | null,
  invoices: readonly InvoiceLine[],
  { currencies, customerOf, toleranceOf }: ReconcileRules,
): ReconciledRow[] {
  const [first = null] = currencies;
  const homes = new Map(
    statement.tenants.map(({ tenant_id, lines, totals }) => {
      const charged = lines.find(isPeriodCharge)?.currency ?? totals[0]?.currency ?? null;
      return [tenant_id, first === null ? null : (charged ?? first)];
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
    const serviceTenants = [...(service ?? [])].filter(([tenantId]) => homeOf(tenantId) === currency);
    const found = reconcile({
      ledger: sumByTenant(ledger),
      service:
        service && sumByTenant(serviceTenants.map(([id, figures]) => ({ tenantId: customerOf(id), ...figures }))),
      invoice: sumByTenant(invoices.filter((line) => line.currency === currency)),
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

/**
 * The rules of a comparison. `customerOf` returns the same name for all tenants that the file bills under one
 * reference.
 */
interface ReconcileRules {
  currencies: readonly (string | null)[];
  customerOf: (tenantId: string) => string;
  toleranceOf: (currency: string | null) => bigint;
}

function sumByTenant(lines: readonly (SideFigures & { tenantId: string })[]): Map<string, SideFigures> {
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

export async function readServiceFigures(
  context: Context,
  workspaceId: string,
  period: Period,
  signal: AbortSignal,
): Promise<Map<string, SideFigures>> {
  const workspace = context.workspace(workspaceId);
  const client = await context.client(workspace);
  const query = { fromPeriod: period, toPeriod: period, perPage: workspace.perPage, exact: true } as const;
  const found = new Map<string, SideFigures>();
  let announced = 0;
  for await (const { usage, total_records } of client.usage(query, { signal }).pages()) {
    announced = total_records;
    for (const { tenant_id, credits_used } of usage) {
      found.set(tenant_id, { credits: credits_used, amountMinor: null });
    }
  }
  if (found.size === announced) return found;
  throw new AppError('listing_moved', 'the service listing changed while it was read', {
    hint: 'run the command again',
    retryable: true,
  });
}

/** Matches the text that the tenant column has in a row with totals. */
const TOTAL_ROW = /^(?:|(?:grand |sub)?total\b.*|gesamt.*|summe\b.*|somme\b.*|sum)$/i;

/**
 * Reads invoice lines from the rows of a table. `currency` is the currency of the amounts if the file has no currency
 * column. A row with totals is checked against the other rows and then skipped. Throws InputError for a cell that
 * cannot be read, and for a file that has only totals.
 */
export function readInvoices(
  { rows, place }: Table,
  columns: MappedColumns,
  { customers, currency: only }: { customers: Customers; currency: string | null },
): InvoiceLine[] {
  const { tenantColumn, creditsColumn, amountColumn, currencyColumn, invoiceColumn, signColumn } = columns;
  const readAmount = amountColumn === undefined ? null : amountsIn(rows, amountColumn, columns);
  const refuse = (row: TableRow, column: string, why: string, hint: Hint): never => {
    throw new InputError(() => `${place(row, column)}: ${JSON.stringify(row.record[column])} ${why}`, hint);
  };
  const lineOf = (row: TableRow): InvoiceLine => {
    const { record } = row;
    const tenantId = customers.customerOf(record[tenantColumn] ?? '');
    const credits = creditsColumn === undefined ? null : creditsIn(row, creditsColumn);
    if (creditsColumn !== undefined && credits === null) {
      refuse(row, creditsColumn, 'is not a whole number of credits', 'use whole numbers, such as 1234');
    }
    const cell = currencyColumn === undefined ? only : (record[currencyColumn] ?? '').trim().toUpperCase();
    const code = cell === '' ? (columns.currency ?? cell) : cell;
    const invoice = (invoiceColumn === undefined ? '' : (record[invoiceColumn] ?? '').trim()) || null;
    const line = { tenantId, invoice, credits, amountMinor: null, currency: null, otherCurrency: null };
    if (amountColumn === undefined || readAmount === null || code === null) return line;
    if (!isCurrency(code))
      return refuse(row, currencyColumn ?? '', 'is not an ISO 4217 code', 'use a currency such as EUR');
    const amount = readAmount(row, code);
    if ('fault' in amount) {
      const date = /^\d{4}-\d\d-\d\d/.test(record[amountColumn] ?? '') ? 'is a date, not an amount' : null;
      const [why, hint] = columns.minorUnits === true ? NOT_MINOR_UNITS : AMOUNT_FAULTS[amount.fault];
      return refuse(row, amountColumn, date ?? why, hint);
    }
    if ('otherCurrency' in amount) return { ...line, currency: code, otherCurrency: amount.otherCurrency };
    const isCredit = signColumn !== undefined && record[signColumn]?.trim() === 'H';
    return { ...line, currency: code, amountMinor: isCredit ? -amount.minor : amount.minor };
  };
  const read = rows.map((row) => ({ row, line: lineOf(row) }));
  const isTotal = ({ row }: { row: TableRow }): boolean => {
    const text = row.record[tenantColumn] ?? '';
    return TOTAL_ROW.test(text.trim()) && !customers.knows(text);
  };
  const lines = read.filter((one) => !isTotal(one)).map(({ line }) => line);
  const [onlyTotal] = rows;
  if (lines.length === 0 && onlyTotal !== undefined) {
    refuse(
      onlyTotal,
      tenantColumn,
      'is a totals row, and no row has a tenant',
      'export the invoices with one row per tenant',
    );
  }
  for (const { row, line } of read.filter(isTotal)) {
    const others = lines.filter(({ currency }) => currency === line.currency);
    const sum = sumByTenant(others.map((other) => ({ ...other, tenantId: line.tenantId }))).get(line.tenantId);
    if (sum?.credits === line.credits && sum.amountMinor === line.amountMinor) continue;
    refuse(row, tenantColumn, 'is not a tenant, and its row is not the total of the other rows', 'remove the row');
  }
  return lines;
}

const NOT_MINOR_UNITS = ['is not an amount in minor units', 'use whole numbers, such as 123450'] as const;
type Hint = ConstructorParameters<typeof InputError>[1];

const AMOUNT_FAULTS: Readonly<Record<AmountFault, readonly [why: string, hint: Hint]>> = {
  not_an_amount: ['is not an amount', 'use amounts such as 1234.50'],
  ambiguous: ['is ambiguous', (nameOf) => `add ${nameOf('decimal')} point or ${nameOf('decimal')} comma`],
  too_fine: ['has more decimals than the currency', 'round it, in a workbook with =ROUND(...,2)'],
};

/**
 * Returns a function that reads an amount from a row. Numbers in a workbook are used unchanged. For texts, all texts of
 * the column together decide which character is the decimal mark.
 */
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

/**
 * Reads a cell with credits; null if the cell contains none. A text such as `1.234` may be 1234, because the point may
 * separate thousands; the parser of credits decides that. A number such as 1.234 is a fraction and is not accepted,
 * because credits are whole numbers.
 */
function creditsIn({ record, numbers }: TableRow, column: string): bigint | null {
  const text = record[column] ?? '';
  if (!numbers.has(column)) return parseCredits(text);
  return /^-?\d{1,19}$/.test(text) ? BigInt(text) : null;
}

/**
 * Returns a hint for each text in the column that differs from a tenant or reference only in case or surrounding space.
 */
export function similarTenantHints({ rows, place }: Table, column: string, customers: Customers): string[] {
  const seen = new Set<string>();
  return rows.flatMap((row) => {
    const text = row.record[column] ?? '';
    const known = seen.has(text) ? null : customers.similarTo(text);
    seen.add(text);
    return known === null ? [] : [`${place(row, column)}: ${unknownTenantHint(text, known)}`];
  });
}

/**
 * The customers to whom the file's invoices are addressed. A customer is one tenant, or all tenants with a shared
 * reference that the file uses.
 */
export class Customers {
  readonly #ids: ReadonlySet<string>;
  readonly #byReference: ReadonlyMap<string, readonly string[]>;
  readonly #customers = new Map<string, string>();
  #byFolded: ReadonlyMap<string, string> | null = null;

  /**
   * `references` has the current reference of each tenant. If the statement has a reference for a tenant, which was
   * fixed at the close, that one takes precedence.
   */
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
      const customer = [...names].sort().join(CUSTOMER_SEPARATOR);
      for (const id of names) this.#customers.set(id, customer);
    }
  }

  /** Returns the customer that a tenant id or reference belongs to. Any other text is returned unchanged. */
  readonly customerOf = (text: string): string => {
    const id = this.#ids.has(text) ? text : (this.#byReference.get(text)?.[0] ?? text);
    return this.#customers.get(id) ?? id;
  };

  knows(text: string): boolean {
    return this.#ids.has(text) || this.#byReference.has(text);
  }

  /**
   * Returns the tenant or reference that a misspelt text probably means. Returns null if there is none, or if the text
   * is spelt correctly.
   */
  similarTo(text: string): string | null {
    if (text.trim() === '' || this.knows(text)) return null;
    this.#byFolded ??= new Map([...this.#byReference.keys(), ...this.#ids].map((known) => [foldId(known), known]));
    return this.#byFolded.get(foldId(text)) ?? null;
  }

  tenantsOf(customer: string): string[] {
    return this.#ids.has(customer) ? [customer] : customer.split(CUSTOMER_SEPARATOR).filter((id) => this.#ids.has(id));
  }
}

const CUSTOMER_SEPARATOR = ' + ';

function parseCredits(text: string): bigint | null {
  const tight = text.replaceAll(/[\s\u00a0\u202f'’]/g, '');
  const grouped = /^-?\d{1,3}(?:([.,])\d{3}(?:\1\d{3})*)$/.test(tight) ? tight.replaceAll(/[.,]/g, '') : tight;
  return /^-?\d{1,19}$/.test(grouped) ? BigInt(grouped) : null;
}

export function createCauseFinder(
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
    // Earlier readings are stored separately for each tenant, so a customer with several tenants has none.
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
