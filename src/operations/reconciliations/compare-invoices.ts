import { hash } from 'node:crypto';
import { basename } from 'node:path';
import { z } from 'zod';
import { PRESETS, type Preset } from '../../billing/reconcile/presets.ts';
import { DECIMAL_MARKS } from '../../billing/reconcile/read-amount.ts';
import { InputError, UsageError } from '../../core/errors.ts';
import { readTable } from '../../input-files/read-table.ts';
import { tenantNameLookup } from '../../ledger/store/tenant-names.ts';
import type { Scope, SlowRead } from '../operation.ts';
import { otherRatesNote } from '../rates/other-rates-note.ts';
import { fileField, idText, noteText, periodText } from '../schemas.ts';
import { unknownPeriod } from '../workspace-choice.ts';
import { type CurrencyOptions, parseTolerance } from './currencies.ts';
import { groupByWorkspace, type ReconciledWorkspace, type ReconciliationSides, readSides } from './read-sides.ts';
import { type reconciliationSchema, sumReconciliation, toReconciliationRow } from './reconciliation-record.ts';
import { type ComparisonToRecord, comparisonToRecord } from './record-comparison.ts';
import { createCauseFinder, readServiceFigures, reconcileByCurrency } from './sides.ts';

const column = z.string().max(200).optional();
const PRESET_NAMES = Object.keys(PRESETS) as [Preset, ...Preset[]];

export const invoicesInput = z.strictObject({
  ...fileField('the invoices: a CSV file or Excel workbook with a header row'),
  period: periodText.describe('the month'),
  workspace: idText.optional().describe('the workspace; required if there are several and no workspace column'),
  preset: z.enum(PRESET_NAMES).optional().describe('the column names of this system'),
  tenant_column: column.describe('the column with tenant ids or references; `tenant_id` if it is missing'),
  credits_column: column.describe('the column with credits'),
  amount_column: column.describe('the column with amounts, such as 12.50'),
  currency_column: column.describe('the column with currencies'),
  currency: column.describe('the currency of the amounts; tenants in other currencies are skipped'),
  invoice_column: column.describe('the column with invoice numbers'),
  workspace_column: column.describe('the column with workspaces'),
  sheet: column.describe('the sheet of a workbook; the first one if it is missing'),
  minor_units: z.boolean().optional().describe('amounts are in minor units: 1250 is 12.50 EUR'),
  decimal: z.enum(DECIMAL_MARKS).optional().describe('the decimal mark, when the amounts are ambiguous'),
  tolerance: z.string().max(40).default('0').describe('the largest accepted difference of an amount'),
  service: z.boolean().default(true).describe('compare with the service, too'),
  note: noteText.default('').describe('the reason or a reference'),
  dry_run: z
    .boolean()
    .default(true)
    .describe('false records the result and the invoice numbers of a closed month; without it, they are only compared'),
  totals_only: z.boolean().optional().describe('true leaves out `rows`, which has a row for each tenant'),
});

export type ReconcileInput = z.output<typeof invoicesInput>;

/** The result of comparing invoices with the ledger and the service. */
interface InvoiceComparison {
  document: z.output<typeof reconciliationSchema>;
  notes: readonly string[];
  /** The comparison to record for each workspace; empty for a dry run. */
  toRecord: readonly ComparisonToRecord[];
}

/**
 * Compares a file of invoices with the ledger and the service. Nothing is recorded; the result contains what has to be
 * recorded.
 */
export const compareInvoices: SlowRead<typeof invoicesInput, InvoiceComparison> = {
  name: 'reconciliations.read',
  role: 'finance',
  input: invoicesInput,
  isSlow: true,
  async run(scope, request) {
    const { period, file, dry_run: dryRun, totals_only: totalsOnly = false } = request;
    const columns = columnsOf(request);
    const { tenantColumn, creditsColumn, amountColumn } = columns;
    if (creditsColumn === undefined && amountColumn === undefined) {
      throw new InputError(
        () => 'no column to compare',
        (nameOf) => `add ${nameOf('credits_column')}, ${nameOf('amount_column')} or both`,
      );
    }
    const { currencyColumn, invoiceColumn, workspaceColumn, signColumn } = columns;
    const named = [tenantColumn, creditsColumn, amountColumn, currencyColumn, invoiceColumn, workspaceColumn];
    const required = [...new Set([...named, signColumn])].filter((name) => name !== undefined);
    const table = await readTable(file, { required, sheet: request.sheet });
    const parts = groupByWorkspace(scope.context.config, table, { workspace: request.workspace, workspaceColumn });
    const read = parts.flatMap(([id, rows]) => {
      return readSides(scope, { id, period, table: { rows, place: table.place }, columns }) ?? [];
    });
    if (read.length === 0) throw unknownPeriod(period, parts.map(([id]) => id).join(', '));
    const open = read.find(({ statement }) => statement.state !== 'closed');
    if (!dryRun && open !== undefined) {
      const hint = 'close the month before recording its reconciliation';
      throw new UsageError(`${open.statement.workspace_id}, ${period}: not closed`, hint);
    }
    const notes = [otherRatesNote(scope) ?? [], ...similarNotes(read)].flat();
    const compared: ReconciledWorkspace[] = [];
    for (const sides of read) compared.push(await compare(scope, sides, request));
    const found = { name: basename(file.name), sha256: hash('sha256', file.bytes, 'hex') };
    return {
      document: documentOf(scope, compared, period, { totalsOnly }),
      notes,
      toRecord: dryRun ? [] : compared.map((one) => comparisonToRecord(one, found)),
    };
  },
};

/** Returns the columns that the preset names. A column that the request names replaces that of the preset. */
function columnsOf(request: ReconcileInput): CurrencyOptions {
  const given = {
    tenantColumn: request.tenant_column,
    creditsColumn: request.credits_column,
    amountColumn: request.amount_column,
    currencyColumn: request.currency_column,
    invoiceColumn: request.invoice_column,
    workspaceColumn: request.workspace_column,
    minorUnits: request.minor_units,
    decimal: request.decimal,
    currency: request.currency,
  };
  const named = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return {
    tenantColumn: 'tenant_id',
    ...(request.preset === undefined ? {} : PRESETS[request.preset]),
    ...named,
  } as CurrencyOptions;
}

/** At most this many hints about misspelt tenants are shown. */
const MAX_SHOWN_HINTS = 10;

function similarNotes(read: readonly ReconciliationSides[]): string[] {
  const hints = read.flatMap((sides) => sides.hints);
  const shown = hints.slice(0, MAX_SHOWN_HINTS);
  return hints.length > shown.length
    ? [...shown, `${hints.length - shown.length} more texts are misspelt tenants or references`]
    : shown;
}

async function compare(
  scope: Scope,
  sides: ReconciliationSides,
  { period, service, tolerance }: ReconcileInput,
): Promise<ReconciledWorkspace> {
  const { statement, invoices, currencies, customers } = sides;
  const id = statement.workspace_id;
  const read = service ? await readServiceFigures(scope.context, id, period, scope.signal) : null;
  const tenants = reconcileByCurrency(statement, read, invoices, {
    currencies,
    customerOf: customers.customerOf,
    toleranceOf: (currency) => parseTolerance(currency, tolerance),
  });
  return { ...sides, tenants };
}

function documentOf(
  { connection }: Scope,
  compared: readonly ReconciledWorkspace[],
  period: string,
  { totalsOnly }: { totalsOnly: boolean },
) {
  const rows = (totalsOnly ? [] : compared).flatMap(({ statement, customers, tenants }) => {
    const { workspace_id } = statement;
    const names = tenantNameLookup(connection, { workspaceId: workspace_id });
    const causeOf = createCauseFinder(connection, statement, customers);
    return tenants.map((tenant) => ({
      workspace_id,
      ...toReconciliationRow(tenant),
      cause: causeOf(tenant),
      display_name: names(workspace_id, customers.tenantsOf(tenant.tenantId)[0] ?? tenant.tenantId),
    }));
  });
  const currencies = [...new Set(compared.flatMap((one) => one.currencies))];
  const all = compared.flatMap(({ tenants }) => tenants);
  const [one, another] = compared.map(({ statement }) => statement);
  const only = another === undefined ? one : undefined;
  return {
    workspace_id: only?.workspace_id ?? null,
    period,
    state: only?.state ?? null,
    currency: currencies.length === 1 ? (currencies[0] ?? null) : null,
    totals: sumReconciliation(all, currencies),
    rows,
  };
}
