import { resolve } from 'node:path';
import type { Command } from 'commander';
import { readStatement } from '../../billing/book/read-statement.ts';
import { type ReconciledTenant, reconcile, type SideFigures } from '../../billing/reconcile/reconcile.ts';
import type { StatementDocument } from '../../billing/statement/document.ts';
import { AppError, UsageError } from '../../core/errors.ts';
import { formatMinor, isCurrency, parseMinor } from '../../core/money.ts';
import { type Period, parsePeriod } from '../../core/period.ts';
import { renderTable, type TableColumn } from '../../reports/formats/table.ts';
import type { Context } from '../../wiring/context.ts';
import { chooseWorkspace } from '../shared/choose-workspace.ts';
import { type CliContext, EXIT, examples, reportingCommand } from '../shared/cli-context.ts';
import { type CsvRecord, readCsvFile } from '../shared/csv-file.ts';
import { withStopSignal } from '../shared/stop-signal.ts';
import { bringRatesIntoForce } from './statement.ts';

interface ReconcileOptions {
  period: string;
  workspace?: string;
  tenantColumn: string;
  creditsColumn?: string;
  amountColumn?: string;
  currency?: string;
  tolerance: string;
  service: boolean;
}

export function reconcileCommand(cli: CliContext): Command {
  return reportingCommand('reconcile')
    .argument('<file>', 'the invoice export, a CSV file with a line of headers')
    .requiredOption('--period <period>', 'the period, YYYY-MM')
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .option('--tenant-column <name>', "the file's column with the tenant's id", 'tenant_id')
    .option('--credits-column <name>', "the file's column with the credits")
    .option('--amount-column <name>', "the file's column with the amount, such as 12.50")
    .option('--currency <code>', 'the currency of the amounts (needed when the period has several)')
    .option('--tolerance <amount>', 'by how much an amount may be off', '0')
    .option('--no-service', 'do not ask the service')
    .addHelpText(
      'after',
      examples('usage-ledger reconcile invoices.csv --period 2026-02 --tenant-column customer --amount-column net'),
    )
    .action((file: string, options: ReconcileOptions) =>
      cli.withContext((context) => withStopSignal((signal) => compare(cli, context, file, options, signal))),
    );
}

async function compare(
  cli: CliContext,
  context: Context,
  file: string,
  options: ReconcileOptions,
  signal: AbortSignal,
): Promise<void> {
  const { creditsColumn, amountColumn } = options;
  if (creditsColumn === undefined && amountColumn === undefined) {
    throw new UsageError('there is nothing to compare', 'name --credits-column, --amount-column or both');
  }
  const period = parsePeriod(options.period, '--period');
  const workspace = chooseWorkspace(context.config, options.workspace);
  const columns = [options.tenantColumn, creditsColumn, amountColumn].filter((name) => name !== undefined);
  const records = readCsvFile(resolve(cli.io.cwd, file), columns);
  await bringRatesIntoForce(context);
  const { connection } = context.reader();
  const request = { workspaceId: workspace.id, period, nowMs: context.clock.now() };
  const statement = connection.transaction(() => readStatement(connection, request))();
  if (statement === null) {
    throw new AppError('unknown_period', `the ledger has nothing of ${period}`, {
      hint: '`usage-ledger status` says what the ledger covers',
    });
  }
  const currency = currencyOf(statement, options);
  const toleranceMinor = currency === null ? 0n : parseMinor(options.tolerance, currency);
  if (toleranceMinor === null) throw new UsageError('--tolerance is no amount', 'give one such as 0.05');
  const tenants = reconcile({
    ledger: ledgerSide(statement, currency),
    service: options.service ? await serviceSide(context, workspace.id, period, signal) : null,
    invoice: invoiceSide(records, options, currency),
    toleranceMinor,
  });
  const differing = tenants.filter(({ status }) => status !== 'matched');
  if (differing.length > 0) cli.exitCode = EXIT.fault;
  const rows = (cli.json ? tenants : differing).map((tenant) => rowOf(tenant, currency));
  const totals = totalsOf(tenants, currency);
  if (cli.json) {
    cli.printJson({ workspace_id: workspace.id, period, state: statement.state, currency, totals, rows });
    return;
  }
  if (rows.length > 0) cli.print(`${renderTable(rows, COLUMNS, cli.tableOptions)}\n`);
  for (const [status, count] of Object.entries(totals.tenants)) cli.print(`${count} ${status}`);
  if (currency !== null)
    cli.print(`ledger ${totals.ledger_amount} ${currency}, invoice ${totals.invoice_amount} ${currency}`);
}

/** Null: the period has no amounts. */
function currencyOf({ totals }: StatementDocument, { currency, amountColumn }: ReconcileOptions): string | null {
  if (amountColumn === undefined) return null;
  if (currency !== undefined) {
    if (isCurrency(currency)) return currency;
    throw new UsageError(`--currency ${JSON.stringify(currency)} is not one of ISO 4217`, 'write it such as EUR');
  }
  const [only, ...others] = totals.map((total) => total.currency);
  if (only === undefined) throw new UsageError('the period has no amounts', 'put rate cards into force first');
  if (others.length === 0) return only;
  throw new UsageError('--currency is needed: the period has several', `use one of ${[only, ...others].join(', ')}`);
}

function ledgerSide({ tenants }: StatementDocument, currency: string | null): Map<string, SideFigures> {
  return new Map(
    tenants.map(({ tenant_id, credits_used, totals }) => {
      const total = totals.find((candidate) => candidate.currency === currency);
      return [tenant_id, { credits: credits_used, amountMinor: total?.amount_minor ?? null }];
    }),
  );
}

async function serviceSide(
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

function invoiceSide(
  records: readonly CsvRecord[],
  { tenantColumn, creditsColumn, amountColumn }: ReconcileOptions,
  currency: string | null,
): Map<string, SideFigures> {
  const sides = new Map<string, SideFigures>();
  records.forEach((record, index) => {
    const tenantId = record[tenantColumn] ?? '';
    const credits = creditsColumn === undefined ? null : parseCredits(record[creditsColumn] ?? '');
    const amount =
      amountColumn === undefined || currency === null ? null : parseMinor(record[amountColumn] ?? '', currency);
    const bad = (creditsColumn !== undefined && credits === null) || (amountColumn !== undefined && amount === null);
    if (bad) {
      throw new UsageError(
        `record ${index + 1} of the file has a figure that is none`,
        'write credits as whole numbers and amounts as plain decimals such as 1234.50, no finer than the currency',
      );
    }
    // An invoice may have several lines of one tenant.
    const before = sides.get(tenantId);
    sides.set(tenantId, {
      credits: credits === null ? null : credits + (before?.credits ?? 0n),
      amountMinor: amount === null ? null : amount + (before?.amountMinor ?? 0n),
    });
  });
  return sides;
}

function parseCredits(text: string): bigint | null {
  return /^-?\d{1,19}$/.test(text.trim()) ? BigInt(text.trim()) : null;
}

type ReconcileRow = ReturnType<typeof rowOf>;

function rowOf({ tenantId, status, ledger, service, invoice }: ReconciledTenant, currency: string | null) {
  return {
    tenant_id: tenantId,
    status,
    service_credits: service?.credits ?? null,
    ledger_credits: ledger?.credits ?? null,
    invoice_credits: invoice?.credits ?? null,
    ledger_amount: amountOf(ledger, currency),
    invoice_amount: amountOf(invoice, currency),
  };
}

function amountOf(side: SideFigures | null, currency: string | null): string | null {
  return side?.amountMinor == null || currency === null ? null : formatMinor(side.amountMinor, currency);
}

const COLUMNS: TableColumn<ReconcileRow>[] = [
  { key: 'tenant_id', header: 'Tenant' },
  { key: 'status', header: 'Status' },
  { key: 'service_credits', header: 'Service', align: 'right' },
  { key: 'ledger_credits', header: 'Ledger', align: 'right' },
  { key: 'invoice_credits', header: 'Invoice', align: 'right' },
  { key: 'ledger_amount', header: 'Ledger amount', align: 'right' },
  { key: 'invoice_amount', header: 'Invoice amount', align: 'right' },
];

function totalsOf(tenants: readonly ReconciledTenant[], currency: string | null) {
  const counts = { matched: 0, missing: 0, extra: 0, different: 0 };
  let ledger = 0n;
  let invoice = 0n;
  for (const tenant of tenants) {
    counts[tenant.status] += 1;
    ledger += tenant.ledger?.amountMinor ?? 0n;
    invoice += tenant.invoice?.amountMinor ?? 0n;
  }
  const amount = (minor: bigint): string | null => (currency === null ? null : formatMinor(minor, currency));
  return { tenants: counts, ledger_amount: amount(ledger), invoice_amount: amount(invoice) };
}
