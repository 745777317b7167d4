import { resolve } from 'node:path';
import { Option } from 'commander';
import { parse } from 'yaml';
import { z } from 'zod';
import type { DecimalMark } from '../../billing/reconcile/read-amount.ts';
import type { Cause, SideFigures } from '../../billing/reconcile/reconcile.ts';
import type { StatementDocument } from '../../billing/statement/document.ts';
import { UsageError } from '../../core/errors.ts';
import { formatMinor, isCurrency, parseMinor } from '../../core/money.ts';
import { parsePeriod } from '../../core/period.ts';
import { readStatement } from '../../ledger/journal/charges/read-statement.ts';
import { tenantNames } from '../../ledger/store/tenant-names.ts';
import { type Column, formatDecimal } from '../../reports/formats/columns.ts';
import type { Context } from '../../wiring/context.ts';
import { chooseWorkspace, unknownPeriod } from '../shared/choose-workspace.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand } from '../shared/cli-context.ts';
import { readCsvFile, readGiven } from '../shared/given-file.ts';
import { LIMIT_OPTION } from '../shared/options.ts';
import { withStopSignal } from '../shared/stop-signal.ts';
import { noteOtherRates } from './rates.ts';
import {
  causes,
  type InvoiceLine,
  type MappedColumns,
  type ReconciledRow,
  readInvoices,
  reconcileByCurrency,
  serviceSide,
} from './reconcile-sides.ts';
import { addSheetOptions, chosenFormat, LISTING_FORMAT, type ListingOptions, putListing } from './sheet-output.ts';

interface ReconcileOptions extends ListingOptions, MappedColumns {
  period: string;
  workspace?: string;
  mapping?: string;
  currency?: string;
  tolerance: string;
  service: boolean;
}

const DECIMALS = ['point', 'comma'] as const satisfies readonly DecimalMark[];

export function reconcileCommand(cli: CliContext): CliCommand {
  const command = reportingCommand('reconcile')
    .argument('<file>', 'the invoices, a CSV file with a line of headers')
    .requiredOption('--period <period>', 'the period, YYYY-MM')
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .option('--tenant-column <name>', 'its column with tenant ids or references', 'tenant_id')
    .option('--credits-column <name>', 'its column with credits')
    .option('--amount-column <name>', 'its column with amounts, such as 12.50')
    .option('--currency-column <name>', 'its column with currencies')
    .option('--currency <code>', 'the currency of the amounts; leaves out tenants of others')
    .addOption(
      new Option('--decimal <mark>', 'the mark before decimals, where amounts do not show it').choices(DECIMALS),
    )
    .option('--tolerance <amount>', 'by how much an amount may differ', '0')
    .option('--no-service', 'do not ask the service')
    .option('--mapping <file>', 'YAML with these options, such as tenant_column')
    .option(...LIMIT_OPTION)
    .addOption(LISTING_FORMAT);
  return addSheetOptions(command)
    .examples(
      'usage-ledger reconcile invoices.csv --period 2026-02 --tenant-column customer --amount-column net',
      'usage-ledger reconcile invoices.csv --period 2026-02 --mapping invoices.yml --format xlsx --out february.xlsx',
    )
    .action((file: string, given: ReconcileOptions) => {
      const options = withMapping(cli, command, given);
      return cli.withContext((context) => withStopSignal((signal) => compare(cli, context, file, options, signal)));
    });
}

const MAPPED = {
  tenant_column: 'tenantColumn',
  credits_column: 'creditsColumn',
  amount_column: 'amountColumn',
  currency_column: 'currencyColumn',
  decimal: 'decimal',
  currency: 'currency',
  tolerance: 'tolerance',
} as const;

const mappingSchema = z.strictObject({
  tenant_column: z.string().min(1).optional(),
  credits_column: z.string().min(1).optional(),
  amount_column: z.string().min(1).optional(),
  currency_column: z.string().min(1).optional(),
  decimal: z.enum(DECIMALS).optional(),
  currency: z.string().optional(),
  tolerance: z.string().optional(),
});

/** The options, where those that nobody typed come from the mapping. */
function withMapping(cli: CliContext, command: CliCommand, options: ReconcileOptions): ReconcileOptions {
  if (options.mapping === undefined) return options;
  const file = resolve(cli.io.cwd, options.mapping);
  const parsed = mappingSchema.safeParse(readYaml(file));
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => [...path, message].join(': '));
    throw new UsageError(`${file} is no mapping: ${faults.join('; ')}`, `it may say ${Object.keys(MAPPED).join(', ')}`);
  }
  const saved = Object.entries(parsed.data)
    .map(([key, value]) => [MAPPED[key as keyof typeof MAPPED], value] as const)
    .filter(([option]) => command.getOptionValueSource(option) !== 'cli');
  return { ...options, ...Object.fromEntries(saved) };
}

function readYaml(file: string): unknown {
  const text = readGiven(file).toString();
  try {
    return parse(text);
  } catch {
    throw new UsageError(`${file} cannot be read (it is not YAML)`, 'check what stands in it');
  }
}

async function compare(
  cli: CliContext,
  context: Context,
  file: string,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<void> {
  const { creditsColumn, amountColumn, currencyColumn } = options;
  if (creditsColumn === undefined && amountColumn === undefined) {
    throw new UsageError('there is nothing to compare', 'name --credits-column, --amount-column or both');
  }
  const period = parsePeriod(options.period, '--period');
  const workspace = chooseWorkspace(context.config, options.workspace);
  const columns = [options.tenantColumn, creditsColumn, amountColumn, currencyColumn];
  const invoiceRows = readCsvFile(
    resolve(cli.io.cwd, file),
    columns.filter((name) => name !== undefined),
  );
  noteOtherRates(cli, context);
  const { connection } = context.reader();
  const request = { workspaceId: workspace.id, period, nowMs: context.clock.now(), proven: false };
  const statement = connection.transaction(() => readStatement(connection, request))();
  if (statement === null) throw unknownPeriod(period, workspace.id);
  const only = currencyOf(statement, options);
  const invoices = readInvoices(invoiceRows, options, { statement, currency: only });
  const currencies = currenciesOf(statement, invoices, { only, options });
  const tenants = reconcileByCurrency(
    statement,
    options.service ? await serviceSide(context, workspace.id, period, signal) : null,
    invoices,
    { currencies, toleranceOf: (currency) => toleranceIn(currency, options.tolerance) },
  );
  const differing = tenants.filter(({ status }) => status !== 'matched');
  if (differing.length > 0) cli.exitCode = EXIT.fault;
  const isTable = chosenFormat(options, 'table') === 'table';
  const names = tenantNames(connection, { workspaceId: workspace.id });
  const whyOf = causes(connection, statement);
  const rows = (isTable ? differing : tenants).map((tenant) => ({
    ...rowOf(tenant),
    cause: whyOf(tenant),
    display_name: names(workspace.id, tenant.tenantId),
  }));
  const totals = totalsOf(tenants, currencies);
  const currency = currencies.length === 1 ? currencies[0] : null;
  const head = { workspace_id: workspace.id, period, state: statement.state, currency, totals };
  await putListing(cli, { name: `reconcile ${period}`, columns: RECONCILE_COLUMNS, rows, head }, options);
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
  if (minor === null) throw new UsageError('--tolerance is no amount', 'give one such as 0.05');
  return minor;
}

type ReconcileRow = ReturnType<typeof rowOf> & { display_name: string | null; cause: Cause | null };

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
