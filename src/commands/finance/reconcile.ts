import { hash } from 'node:crypto';
import { basename, resolve } from 'node:path';
import { Option } from 'commander';
import { PRESETS, type Preset } from '../../billing/reconcile/presets.ts';
import type { DecimalMark } from '../../billing/reconcile/read-amount.ts';
import type { Cause, SideFigures } from '../../billing/reconcile/reconcile.ts';
import type { StatementDocument } from '../../billing/statement/document.ts';
import { UsageError } from '../../core/errors.ts';
import { formatMinor, isCurrency, parseMinor } from '../../core/money.ts';
import { type Period, parsePeriod } from '../../core/period.ts';
import { systemUser } from '../../core/process/system-user.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { readInputFile } from '../../input-files/input-file.ts';
import { readTable } from '../../input-files/read-table.ts';
import type { Table, TableRow } from '../../input-files/table.ts';
import { readStatement } from '../../ledger/journal/charges/read-statement.ts';
import { tenantNames, tenantReferences } from '../../ledger/store/tenant-names.ts';
import { type Column, formatDecimal } from '../../reports/formats/columns.ts';
import type { Context } from '../../wiring/context.ts';
import { chooseWorkspace, unknownPeriod } from '../shared/choose-workspace.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
import { BY_OPTION, LIMIT_OPTION, SHEET_OPTION } from '../shared/options.ts';
import { noteOtherRates } from './rates.ts';
import {
  Customers,
  causes,
  type InvoiceLine,
  type MappedColumns,
  noteMeantTenants,
  type ReconciledRow,
  readInvoices,
  reconcileByCurrency,
  serviceSide,
} from './reconcile-sides.ts';
import { addSheetOptions, chosenFormat, LISTING_FORMAT, type ListingOptions, putListing } from './sheet-output.ts';

interface ReconcileOptions extends ListingOptions, MappedColumns {
  period: string;
  workspace?: string;
  preset?: Preset;
  sheet?: string;
  tolerance: string;
  service: boolean;
  record?: boolean;
  by?: string;
  note: string;
}

const DECIMALS: readonly DecimalMark[] = ['point', 'comma'];

export function reconcileCommand(cli: CliContext): CliCommand {
  const command = reportingCommand('reconcile')
    .argument('<file>', 'the invoices: a CSV file or an Excel workbook, with a header')
    .requiredOption('--period <period>', 'the period, YYYY-MM')
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .option('--tenant-column <name>', 'its column with tenant ids or references', 'tenant_id')
    .option('--credits-column <name>', 'its column with credits')
    .option('--amount-column <name>', 'its column with amounts, such as 12.50')
    .option('--currency-column <name>', 'its column with currencies')
    .option('--currency <code>', 'the currency of the amounts; leaves out tenants of others')
    .option('--invoice-column <name>', 'its column with the numbers of the invoices')
    .option('--workspace-column <name>', 'its column with workspaces')
    .option(...SHEET_OPTION)
    .option('--minor-units', 'amounts are in minor units: 1250 is 12.50 EUR')
    .addOption(new Option('--preset <name>', 'columns as this system calls them').choices(Object.keys(PRESETS)))
    .addOption(
      new Option('--decimal <mark>', 'the mark before decimals, where amounts do not show it').choices(DECIMALS),
    )
    .option('--tolerance <amount>', 'by how much an amount may differ', '0')
    .option('--no-service', 'do not ask the service')
    .option('--record', 'write the result of a closed month, and the numbers, as a link of the chain')
    .option(...BY_OPTION)
    .option('--note <text>', 'why, or a reference', '')
    .option(...LIMIT_OPTION)
    .addOption(LISTING_FORMAT);
  return addSheetOptions(command)
    .examples(
      'usage-ledger reconcile invoices.csv --period 2026-02 --tenant-column customer --amount-column net',
      'usage-ledger reconcile invoices.csv --period 2026-02 --preset xero --record --by "Ada Byron"',
    )
    .action((file: string, given: ReconcileOptions) => {
      const options = withPreset(command, given);
      return cli.withContext((context) => withStopSignal((signal) => compare(cli, context, file, options, signal)));
    });
}

/** The options, where those that nobody typed come from the preset. */
function withPreset(command: CliCommand, options: ReconcileOptions): ReconcileOptions {
  if (options.preset === undefined) return options;
  const isTyped = ([option]: [string, unknown]) => command.getOptionValueSource(option) === 'cli';
  const typed = Object.fromEntries(Object.entries(options).filter(isTyped));
  return { ...options, ...PRESETS[options.preset], ...typed };
}

async function compare(
  cli: CliContext,
  context: Context,
  file: string,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<void> {
  const { tenantColumn, creditsColumn, amountColumn, currencyColumn, invoiceColumn, workspaceColumn } = options;
  if (creditsColumn === undefined && amountColumn === undefined) {
    throw new UsageError('there is nothing to compare', 'name --credits-column, --amount-column or both');
  }
  const period = parsePeriod(options.period, '--period');
  const input = readInputFile(resolve(cli.io.cwd, file), file);
  const wanted = [tenantColumn, creditsColumn, amountColumn, currencyColumn, invoiceColumn, workspaceColumn];
  const required = [...new Set([...wanted, options.signColumn])].filter((name) => name !== undefined);
  const table = await readTable(input, { required, sheet: options.sheet });
  const parts = byWorkspace(context, table, options);
  noteOtherRates(cli, context);
  const read = parts.flatMap(([id, rows]) => {
    return readSides(context, period, { id, table: { rows, place: table.place }, options }) ?? [];
  });
  if (read.length === 0) throw unknownPeriod(period, parts.map(([id]) => id).join(', '));
  const open = read.find(({ statement }) => statement.state !== 'closed');
  if (options.record === true && open !== undefined) {
    const hint = 'close it first: what is not closed changes';
    throw new UsageError(`${period} of ${inertText(open.statement.workspace_id)} is not closed`, hint);
  }
  noteMeant(cli, read);
  const compared: Compared[] = [];
  for (const sides of read) {
    const id = sides.statement.workspace_id;
    const service = options.service ? await serviceSide(context, id, period, signal) : null;
    const tenants = reconcileByCurrency(sides.statement, service, sides.invoices, {
      currencies: sides.currencies,
      customerOf: sides.customers.customerOf,
      toleranceOf: (currency) => toleranceIn(currency, options.tolerance),
    });
    compared.push({ ...sides, tenants });
  }
  if (options.record === true) {
    const found = { name: basename(file), sha256: hash('sha256', input.bytes, 'hex') };
    for (const one of compared) await record(cli, context, one, { period, file: found, options });
  }
  await show(cli, context, compared, { period, options });
}

/** Groups the rows by workspace; without a column of workspaces all belong to the one that is chosen. */
function byWorkspace(
  { config }: Context,
  { rows, place }: Table,
  { workspace, workspaceColumn }: ReconcileOptions,
): [id: string, rows: TableRow[]][] {
  if (workspaceColumn === undefined) return [[chooseWorkspace(config, workspace).id, rows]];
  const ids = config.workspaces.map(({ id }) => id);
  const byId = Map.groupBy(rows, ({ record }) => (record[workspaceColumn] ?? '').trim());
  const [unknown] = [...byId].find(([id]) => !ids.includes(id))?.[1] ?? [];
  if (unknown !== undefined) {
    const value = JSON.stringify(unknown.record[workspaceColumn]);
    const message = `${place(unknown, workspaceColumn)}: ${value} is not a workspace of the configuration`;
    throw new UsageError(message, `it has ${ids.join(', ')}`);
  }
  const chosen = workspace === undefined ? ids : [chooseWorkspace(config, workspace).id];
  return chosen.map((id) => [id, byId.get(id) ?? []]);
}

interface Sides {
  statement: StatementDocument;
  customers: Customers;
  invoices: InvoiceLine[];
  currencies: (string | null)[];
  /** Names in the file that differ from a tenant only in case or space. */
  meant: string[];
}

/** Texts that may mean a tenant are pointed out up to this many. */
const SHOWN_MEANT = 10;

function noteMeant(cli: CliContext, read: readonly Sides[]): void {
  const meant = read.flatMap((sides) => sides.meant);
  for (const line of meant.slice(0, SHOWN_MEANT)) cli.note(line);
  if (meant.length > SHOWN_MEANT) cli.note(`${meant.length - SHOWN_MEANT} more`);
}

/** Null of a workspace that has neither usage in the month nor invoices. */
function readSides(
  context: Context,
  period: Period,
  { id, table, options }: { id: string; table: Table; options: ReconcileOptions },
): Sides | null {
  const { connection } = context.reader();
  const request = { workspaceId: id, period, nowMs: context.clock.now(), proven: false };
  const statement = connection.transaction(() => readStatement(connection, request))();
  if (statement === null && (table.rows.length === 0 || options.workspaceColumn === undefined)) return null;
  if (statement === null) throw unknownPeriod(period, id);
  const texts = table.rows.map(({ record }) => record[options.tenantColumn] ?? '');
  const customers = new Customers(statement, tenantReferences(connection, id), texts);
  const only = currencyOf(statement, options);
  const invoices = readInvoices(table, options, { customers, currency: only });
  const currencies = currenciesOf(statement, invoices, { only, options });
  return {
    statement,
    customers,
    invoices,
    currencies,
    meant: noteMeantTenants(table, options.tenantColumn, customers),
  };
}

interface Compared extends Sides {
  tenants: ReconciledRow[];
}

async function record(
  cli: CliContext,
  context: Context,
  { statement, customers, invoices, tenants, currencies }: Compared,
  { period, file, options }: { period: Period; file: { name: string; sha256: string }; options: ReconcileOptions },
): Promise<void> {
  const { tenants: counts, amounts } = totalsOf(tenants, currencies);
  const named = invoices.filter(({ invoice, currency }) => invoice !== null && currency !== null);
  const byTenant = Map.groupBy(
    named.flatMap((line) => customers.tenantsOf(line.tenantId).map((tenantId) => ({ ...line, tenantId }))),
    ({ tenantId, currency }) => JSON.stringify([tenantId, currency]),
  );
  const numbers = [...byTenant.values()].map((lines) => ({
    tenantId: lines[0]?.tenantId ?? '',
    currency: lines[0]?.currency ?? '',
    number: [...new Set(lines.map(({ invoice }) => invoice))].join(', '),
  }));
  const { by = systemUser(), note, tolerance } = options;
  const workspaceId = statement.workspace_id;
  const writer = await context.existingWriter();
  const link = await writer.recordReconciliation({
    workspaceId,
    period,
    closeDigest: statement.head_digest ?? '',
    file,
    counts,
    tolerance,
    amounts,
    numbers,
    by,
    note,
    nowMs: context.clock.now(),
  });
  cli.note(`${period} of ${inertText(workspaceId)} is recorded as reconciled: head digest ${link.digest}`);
  cli.noteCheckpoint(link.checkpointFault);
}

async function show(
  cli: CliContext,
  context: Context,
  compared: readonly Compared[],
  { period, options }: { period: Period; options: ReconcileOptions },
): Promise<void> {
  const { connection } = context.reader();
  const isTable = chosenFormat(options, 'table') === 'table';
  const rows = compared.flatMap(({ statement, customers, tenants }) => {
    const { workspace_id } = statement;
    const names = tenantNames(connection, { workspaceId: workspace_id });
    const whyOf = causes(connection, statement, customers);
    return tenants
      .filter(({ status }) => !isTable || status !== 'matched')
      .map((tenant) => ({
        workspace_id,
        ...rowOf(tenant),
        cause: whyOf(tenant),
        display_name: names(workspace_id, customers.tenantsOf(tenant.tenantId)[0] ?? tenant.tenantId),
      }));
  });
  const currencies = [...new Set(compared.flatMap((one) => one.currencies))];
  const totals = totalsOf(
    compared.flatMap(({ tenants }) => tenants),
    currencies,
  );
  if (compared.some(({ tenants }) => tenants.some(({ status }) => status !== 'matched'))) cli.exitCode = EXIT.fault;
  const [one, another] = compared.map(({ statement }) => statement);
  const only = another === undefined ? one : undefined;
  const head = {
    workspace_id: only?.workspace_id ?? null,
    period,
    state: only?.state ?? null,
    currency: currencies.length === 1 ? currencies[0] : null,
    totals,
  };
  const columns = only === undefined ? [WORKSPACE_COLUMN, ...RECONCILE_COLUMNS] : RECONCILE_COLUMNS;
  await putListing(cli, { name: `reconcile ${period}`, columns, rows, head }, options);
  if (isTable) printTotals(cli, totals, rows.length > 0);
}

function printTotals(cli: CliContext, { tenants, amounts }: ReturnType<typeof totalsOf>, isBelow: boolean): void {
  if (isBelow) cli.print('');
  for (const [status, count] of Object.entries(tenants)) cli.print(`${count} ${status}`);
  for (const { currency, ledger, invoice } of amounts) {
    cli.print(`ledger ${formatDecimal(ledger)} ${currency}, invoice ${formatDecimal(invoice)} ${currency}`);
  }
}

/** The currency of a file that has no column of it; null: it has one, or no amounts. */
function currencyOf({ totals }: StatementDocument, options: ReconcileOptions): string | null {
  const { currency, amountColumn, currencyColumn } = options;
  if (currency !== undefined && !isCurrency(currency)) {
    throw new UsageError(`--currency ${JSON.stringify(currency)} is not one of ISO 4217`, 'write it such as EUR');
  }
  if (amountColumn === undefined || currencyColumn !== undefined) return null;
  if (currency !== undefined) return currency;
  const [only, ...others] = totals.map((total) => total.currency);
  if (only === undefined) throw new UsageError('the period has no amounts', 'put rate cards into force first');
  if (others.length === 0) return only;
  const hint = `name the --currency-column, or one of ${[only, ...others].join(', ')} by --currency`;
  throw new UsageError('--currency is needed: the period has several', hint);
}

/** Null alone: amounts are not compared. */
function currenciesOf(
  { totals }: StatementDocument,
  invoices: readonly InvoiceLine[],
  { only, options }: { only: string | null; options: ReconcileOptions },
): (string | null)[] {
  if (only !== null || options.amountColumn === undefined) return [only];
  if (options.currency !== undefined) return [options.currency];
  const all = [...totals.map(({ currency }) => currency), ...invoices.flatMap(({ currency }) => currency ?? [])];
  return [...new Set(all)];
}

function toleranceIn(currency: string | null, tolerance: string): bigint {
  const minor = currency === null ? 0n : parseMinor(tolerance, currency);
  if (minor === null) throw new UsageError('--tolerance is not an amount', 'give one such as 0.05');
  return minor;
}

type ReconcileRow = ReturnType<typeof rowOf> & {
  workspace_id: string;
  display_name: string | null;
  cause: Cause | null;
};

const WORKSPACE_COLUMN: Column<ReconcileRow> = { name: 'workspace_id', kind: 'id', header: 'Workspace' };

const RECONCILE_COLUMNS: readonly Column<ReconcileRow>[] = [
  { name: 'tenant_id', kind: 'id', header: 'Tenant' },
  { name: 'display_name', kind: 'text', header: 'Name', sparse: true },
  { name: 'status', kind: 'text', header: 'Status' },
  { name: 'service_credits', kind: 'credits', header: 'Service', sum: true },
  { name: 'ledger_credits', kind: 'credits', header: 'Ledger', sum: true },
  { name: 'invoice_credits', kind: 'credits', header: 'Invoice', sum: true },
  { name: 'ledger_amount', kind: 'amount', header: 'Ledger amount', sum: true },
  { name: 'invoice_amount', kind: 'amount', header: 'Invoice amount', sum: true },
  { name: 'currency', kind: 'text', header: '' },
  { name: 'other_currencies', kind: 'text' },
  { name: 'cause', kind: 'text', header: 'Why', words: whyWords },
];

function whyWords(cause: Cause | null, { other_currencies: marks }: ReconcileRow): string {
  const words = cause?.replace('_', ' ') ?? '';
  return marks === null ? words : `${words} ${marks}`;
}

function rowOf({ tenantId, status, ledger, service, invoice, currency, otherCurrencies }: ReconciledRow) {
  return {
    tenant_id: tenantId,
    status,
    service_credits: service?.credits ?? null,
    ledger_credits: ledger?.credits ?? null,
    invoice_credits: invoice?.credits ?? null,
    ledger_amount: amountOf(ledger, currency),
    invoice_amount: amountOf(invoice, currency),
    currency,
    other_currencies: otherCurrencies.length === 0 ? null : otherCurrencies.join(' '),
  };
}

function amountOf(side: SideFigures | null, currency: string | null): string | null {
  return side?.amountMinor == null || currency === null ? null : formatMinor(side.amountMinor, currency);
}

function totalsOf(tenants: readonly ReconciledRow[], currencies: readonly (string | null)[]) {
  const counts = { matched: 0, missing: 0, extra: 0, different: 0 };
  for (const { status } of tenants) counts[status] += 1;
  const amounts = currencies.flatMap((currency) => {
    if (currency === null) return [];
    const own = tenants.filter((tenant) => tenant.currency === currency);
    const sum = (side: 'ledger' | 'invoice'): string =>
      formatMinor(
        own.reduce((total, tenant) => total + (tenant[side]?.amountMinor ?? 0n), 0n),
        currency,
      );
    return [{ currency, ledger: sum('ledger'), invoice: sum('invoice') }];
  });
  const only = amounts.length === 1 ? amounts[0] : undefined;
  const { ledger: ledger_amount = null, invoice: invoice_amount = null } = only ?? {};
  return { tenants: counts, ledger_amount, invoice_amount, amounts };
}
