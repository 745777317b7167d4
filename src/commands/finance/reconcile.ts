import { resolve } from 'node:path';
import { Option } from 'commander';
import { PRESETS, type Preset } from '../../billing/reconcile/presets.ts';
import { DECIMAL_MARKS, type DecimalMark } from '../../billing/reconcile/read-amount.ts';
import { parsePeriod } from '../../core/period.ts';
import { readInputFile } from '../../input-files/input-file.ts';
import { reconcileInvoices } from '../../operations/reconciliations/reconcile-invoices.ts';
import type { ReconciliationRow } from '../../operations/reconciliations/reconciliation-record.ts';
import { type Column, formatDecimal } from '../../reports/formats/columns.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, EXIT, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { BY_OPTION, LIMIT_OPTION, SHEET_OPTION } from '../shared/options.ts';
import { addSheetOptions, chooseFormat, LISTING_FORMAT, type ListingOptions, writeListing } from './sheet-output.ts';

interface ReconcileOptions extends ListingOptions {
  period: string;
  workspace?: string;
  tenantColumn?: string | undefined;
  creditsColumn?: string;
  amountColumn?: string;
  currencyColumn?: string;
  currency?: string;
  invoiceColumn?: string;
  workspaceColumn?: string;
  minorUnits?: boolean;
  decimal?: DecimalMark;
  preset?: Preset;
  sheet?: string;
  tolerance: string;
  service: boolean;
  record?: boolean;
  by?: string;
  note: string;
}

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
    .addOption(
      new Option('--decimal <mark>', 'the decimal mark, when the amounts are ambiguous').choices(DECIMAL_MARKS),
    )
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
      // The default of --tenant-column must not take precedence over the preset.
      const tenantColumn = command.getOptionValueSource('tenantColumn') === 'cli' ? given.tenantColumn : undefined;
      const options = { ...given, tenantColumn };
      return cli.withContext((context) =>
        withStopSignal((signal) => compareInvoices(cli, context, file, options, signal)),
      );
    });
}

async function compareInvoices(
  cli: CliContext,
  context: Context,
  file: string,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<void> {
  const period = parsePeriod(options.period, '--period');
  const { by, record = false } = options;
  const { document, notes } = await reconcileInvoices.run(scopeOf(context, { by, signal }), {
    file: readInputFile(resolve(cli.io.cwd, file), file),
    period,
    workspace: options.workspace,
    preset: options.preset,
    tenant_column: options.tenantColumn,
    credits_column: options.creditsColumn,
    amount_column: options.amountColumn,
    currency_column: options.currencyColumn,
    currency: options.currency,
    invoice_column: options.invoiceColumn,
    workspace_column: options.workspaceColumn,
    sheet: options.sheet,
    minor_units: options.minorUnits,
    decimal: options.decimal,
    tolerance: options.tolerance,
    service: options.service,
    note: options.note,
    dry_run: !record,
  });
  cli.noteAll(notes);
  const { rows: all, ...head } = document;
  const differing = all.filter(({ status }) => status !== 'matched');
  if (differing.length > 0) cli.exitCode = EXIT.fault;
  const isTable = chooseFormat(options, 'table') === 'table';
  const rows = isTable ? differing : all;
  const columns = head.workspace_id === null ? [WORKSPACE_COLUMN, ...RECONCILE_COLUMNS] : RECONCILE_COLUMNS;
  await writeListing(cli, { name: `reconcile ${period}`, columns, rows, head }, options);
  if (isTable) printTotals(cli, head.totals, rows.length > 0);
}

function printTotals(
  cli: CliContext,
  { tenants, amounts }: Awaited<ReturnType<typeof reconcileInvoices.run>>['document']['totals'],
  isBelow: boolean,
): void {
  if (isBelow) cli.print('');
  for (const [status, count] of Object.entries(tenants)) cli.print(`${count} ${status}`);
  for (const { currency, ledger, invoice } of amounts) {
    cli.print(`ledger ${formatDecimal(ledger)} ${currency}, invoice ${formatDecimal(invoice)} ${currency}`);
  }
}

const WORKSPACE_COLUMN: Column<ReconciliationRow> = { name: 'workspace_id', kind: 'id', header: 'Workspace' };

const RECONCILE_COLUMNS: readonly Column<ReconciliationRow>[] = [
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

function causeWords(cause: ReconciliationRow['cause'], { other_currencies: marks }: ReconciliationRow): string {
  const words = cause?.replace('_', ' ') ?? '';
  return marks === null ? words : `${words} ${marks}`;
}
