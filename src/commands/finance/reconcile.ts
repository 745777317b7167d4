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
import { tenantNameLookup, tenantReferences } from '../../ledger/store/tenant-names.ts';
import { chooseWorkspace, unknownPeriod } from '../../operations/workspace-choice.ts';
import { type Column, formatDecimal } from '../../reports/formats/columns.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
import { BY_OPTION, LIMIT_OPTION, SHEET_OPTION } from '../shared/options.ts';
import { noteOtherRates } from './rates.ts';
import {
  Customers,
  causeFinder,
  type InvoiceLine,
  type MappedColumns,
  type ReconciledRow,
  readInvoices,
  reconcileByCurrency,
  serviceSide,
  similarTenantHints,
} from './reconcile-sides.ts';
import { addSheetOptions, chosenFormat, LISTING_FORMAT, type ListingOptions, writeListing } from './sheet-output.ts';

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
    .argument('<file>', 'the invoices: a CSV file or Excel workbook with a header row')
    .requiredOption('--period <period>', 'the period, YYYY-MM')
    .option('--workspace <id>', 'the workspace (required when there are several)')
    .option('--tenant-column <name>', 'the column with tenant ids or references', 'tenant_id')
    .option('--credits-column <name>', 'the column with credits')
    .option('--amount-column <name>', 'the column with amounts, such as 12.50')
    .option('--currency-column <name>', 'the column with currencies')
    .option('--currency <code>', 'the currency of the amounts; tenants in other currencies are skipped')
    .option('--invoice-column <name>', 'the column with invoice numbers')
    .option('--workspace-column <name>', 'the column with workspaces')
    .option(...SHEET_OPTION)
    .option('--minor-units', 'amounts are in minor units: 1250 is 12.50 EUR')
    .addOption(new Option('--preset <name>', 'the column names of this system').choices(Object.keys(PRESETS)))
    .addOption(new Option('--decimal <mark>', 'the decimal mark, when the amounts are ambiguous').choices(DECIMALS))
    .option('--tolerance <amount>', 'the largest accepted difference of an amount', '0')
    .option('--no-service', 'compare without the service')
    .option('--record', 'record the result and the invoice numbers of a closed month in the chain')
    .option(...BY_OPTION)
    .option('--note <text>', 'reason or reference', '')
    .option(...LIMIT_OPTION)
    .addOption(LISTING_FORMAT);
  return addSheetOptions(command)
    .examples(
      'usage-ledger reconcile invoices.csv --period 2026-02 --tenant-column customer --amount-column net',
      'usage-ledger reconcile invoices.csv --period 2026-02 --preset xero --record --by "Ada Byron"',
    )
    .action((file: string, given: ReconcileOptions) => {
      const options = withPreset(command, given);
      return cli.withContext((context) =>
        withStopSignal((signal) => compareInvoices(cli, context, file, options, signal)),
      );
    });
}

/** Fills options that were not typed from the preset. */
function withPreset(command: CliCommand, options: ReconcileOptions): ReconcileOptions {
  if (options.preset === undefined) return options;
  const isTyped = ([option]: [string, unknown]) => command.getOptionValueSource(option) === 'cli';
  const typed = Object.fromEntries(Object.entries(options).filter(isTyped));
  return { ...options, ...PRESETS[options.preset], ...typed };
}

async function compareInvoices(
  cli: CliContext,
  context: Context,
  file: string,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<void> {
  const { tenantColumn, creditsColumn, amountColumn, currencyColumn, invoiceColumn, workspaceColumn } = options;
  if (creditsColumn === undefined && amountColumn === undefined) {
    throw new UsageError('no column to compare', 'add --credits-column, --amount-column or both');
  }
  const period = parsePeriod(options.period, '--period');
  const input = readInputFile(resolve(cli.io.cwd, file), file);
  const columns = [tenantColumn, creditsColumn, amountColumn, currencyColumn, invoiceColumn, workspaceColumn];
  const required = [...new Set([...columns, options.signColumn])].filter((name) => name !== undefined);
  const table = await readTable(input, { required, sheet: options.sheet });
  const parts = byWorkspace(context, table, options);
  noteOtherRates(cli, context);
  const read = parts.flatMap(([id, rows]) => {
    return readSides(context, period, { id, table: { rows, place: table.place }, options }) ?? [];
  });
  if (read.length === 0) throw unknownPeriod(period, parts.map(([id]) => id).join(', '));
  const open = read.find(({ statement }) => statement.state !== 'closed');
  if (options.record === true && open !== undefined) {
    const hint = 'close the month before recording its reconciliation';
    throw new UsageError(`${inertText(open.statement.workspace_id)}, ${period}: not closed`, hint);
  }
  noteSimilarTenants(cli, read);
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
    for (const one of compared) await recordResult(cli, context, one, { period, file: found, options });
  }
  await printComparisonResult(cli, context, compared, { period, options });
}

/** Groups the rows by workspace. Without a workspace column, all rows belong to the chosen workspace. */
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
    const message = `${place(unknown, workspaceColumn)}: ${value} is not a configured workspace`;
    throw new UsageError(message, `use one of ${ids.join(', ')}`);
  }
  const chosen = workspace === undefined ? ids : [chooseWorkspace(config, workspace).id];
  return chosen.map((id) => [id, byId.get(id) ?? []]);
}

interface Sides {
  statement: StatementDocument;
  customers: Customers;
  invoices: InvoiceLine[];
  currencies: (string | null)[];
  /** Hints for names in the file that differ from a tenant only in case or space. */
  hints: string[];
}

/** Maximum hints about misspelt tenants that are shown. */
const MAX_SHOWN_HINTS = 10;

function noteSimilarTenants(cli: CliContext, read: readonly Sides[]): void {
  const hints = read.flatMap((sides) => sides.hints);
  for (const line of hints.slice(0, MAX_SHOWN_HINTS)) cli.note(line);
  if (hints.length > MAX_SHOWN_HINTS) cli.note(`${hints.length - MAX_SHOWN_HINTS} more`);
}

/** Reads both sides of a workspace; null when it has neither usage in the month nor invoices. */
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
    hints: similarTenantHints(table, options.tenantColumn, customers),
  };
}

interface Compared extends Sides {
  tenants: ReconciledRow[];
}

async function recordResult(
  cli: CliContext,
  context: Context,
  { statement, customers, invoices, tenants, currencies }: Compared,
  { period, file, options }: { period: Period; file: { name: string; sha256: string }; options: ReconcileOptions },
): Promise<void> {
  const { tenants: counts, amounts } = reconciledTotals(tenants, currencies);
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
  cli.note(`${inertText(workspaceId)}, ${period}: reconciliation recorded, head digest ${link.digest}`);
  cli.noteCheckpoint(link.checkpointFault);
}

async function printComparisonResult(
  cli: CliContext,
  context: Context,
  compared: readonly Compared[],
  { period, options }: { period: Period; options: ReconcileOptions },
): Promise<void> {
  const { connection } = context.reader();
  const isTable = chosenFormat(options, 'table') === 'table';
  const rows = compared.flatMap(({ statement, customers, tenants }) => {
    const { workspace_id } = statement;
    const names = tenantNameLookup(connection, { workspaceId: workspace_id });
    const causeOf = causeFinder(connection, statement, customers);
    return tenants
      .filter(({ status }) => !isTable || status !== 'matched')
      .map((tenant) => ({
        workspace_id,
        ...reconciledRow(tenant),
        cause: causeOf(tenant),
        display_name: names(workspace_id, customers.tenantsOf(tenant.tenantId)[0] ?? tenant.tenantId),
      }));
  });
  const currencies = [...new Set(compared.flatMap((one) => one.currencies))];
  const totals = reconciledTotals(
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
  await writeListing(cli, { name: `reconcile ${period}`, columns, rows, head }, options);
  if (isTable) printTotals(cli, totals, rows.length > 0);
}

function printTotals(
  cli: CliContext,
  { tenants, amounts }: ReturnType<typeof reconciledTotals>,
  isBelow: boolean,
): void {
  if (isBelow) cli.print('');
  for (const [status, count] of Object.entries(tenants)) cli.print(`${count} ${status}`);
  for (const { currency, ledger, invoice } of amounts) {
    cli.print(`ledger ${formatDecimal(ledger)} ${currency}, invoice ${formatDecimal(invoice)} ${currency}`);
  }
}

/** Returns the currency of a file without a currency column; null when it has such a column, or no amounts. */
function currencyOf({ totals }: StatementDocument, options: ReconcileOptions): string | null {
  const { currency, amountColumn, currencyColumn } = options;
  if (currency !== undefined && !isCurrency(currency)) {
    throw new UsageError(
      `--currency ${JSON.stringify(currency)} is not an ISO 4217 code`,
      'use a currency such as EUR',
    );
  }
  if (amountColumn === undefined || currencyColumn !== undefined) return null;
  if (currency !== undefined) return currency;
  const [only, ...others] = totals.map((total) => total.currency);
  if (only === undefined) throw new UsageError('the period has no amounts', 'apply rate cards first');
  if (others.length === 0) return only;
  const hint = `add --currency-column, or --currency with one of ${[only, ...others].join(', ')}`;
  throw new UsageError('--currency is required: the period has several currencies', hint);
}

/** Returns the currencies to compare; only null when amounts are not compared. */
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
  if (minor === null) throw new UsageError('--tolerance is not an amount', 'use an amount such as 0.05');
  return minor;
}

type ReconcileRow = ReturnType<typeof reconciledRow> & {
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
  { name: 'cause', kind: 'text', header: 'Cause', words: causeWords },
];

function causeWords(cause: Cause | null, { other_currencies: marks }: ReconcileRow): string {
  const words = cause?.replace('_', ' ') ?? '';
  return marks === null ? words : `${words} ${marks}`;
}

function reconciledRow({ tenantId, status, ledger, service, invoice, currency, otherCurrencies }: ReconciledRow) {
  return {
    tenant_id: tenantId,
    status,
    service_credits: service?.credits ?? null,
    ledger_credits: ledger?.credits ?? null,
    invoice_credits: invoice?.credits ?? null,
    ledger_amount: sideAmount(ledger, currency),
    invoice_amount: sideAmount(invoice, currency),
    currency,
    other_currencies: otherCurrencies.length === 0 ? null : otherCurrencies.join(' '),
  };
}

function sideAmount(side: SideFigures | null, currency: string | null): string | null {
  return side?.amountMinor == null || currency === null ? null : formatMinor(side.amountMinor, currency);
}

function reconciledTotals(tenants: readonly ReconciledRow[], currencies: readonly (string | null)[]) {
  const counts = { matched: 0, missing: 0, extra: 0, different: 0 };
  for (const { status } of tenants) counts[status] += 1;
  const amounts = currencies.flatMap((currency) => {
    if (currency === null) return [];
    const inCurrency = tenants.filter((tenant) => tenant.currency === currency);
    const sum = (side: 'ledger' | 'invoice'): string =>
      formatMinor(
        inCurrency.reduce((total, tenant) => total + (tenant[side]?.amountMinor ?? 0n), 0n),
        currency,
      );
    return [{ currency, ledger: sum('ledger'), invoice: sum('invoice') }];
  });
  const only = amounts.length === 1 ? amounts[0] : undefined;
  const { ledger: ledger_amount = null, invoice: invoice_amount = null } = only ?? {};
  return { tenants: counts, ledger_amount, invoice_amount, amounts };
}
