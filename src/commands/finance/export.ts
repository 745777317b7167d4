import { type Command, Option } from 'commander';
import { FOCUS_VERSIONS, type FocusVersion, focusColumns, focusKind } from '../../billing/focus/focus-columns.ts';
import { focusHeader, focusLines } from '../../billing/focus/focus-csv.ts';
import { type FocusRow, focusRows } from '../../billing/focus/focus-rows.ts';
import { billedTenants } from '../../billing/records/read-billed.ts';
import { findBilledPeriod } from '../../billing/records/read-statement.ts';
import type { FocusConfig } from '../../config/types.ts';
import { UsageError } from '../../core/errors.ts';
import { parsePeriod } from '../../core/period.ts';
import { SHEET_FORMATS, type SheetFormat } from '../../reports/files/write-sheet.ts';
import type { Sheet } from '../../reports/formats/sheet.ts';
import { viewSheet } from '../../reports/queries/finance-view.ts';
import type { Context } from '../../wiring/context.ts';
import { chooseWorkspace, requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { type CliContext, examples, plainCommand } from '../shared/cli-context.ts';
import { addSheetOptions, putPieces, putSheet, type SheetOptions } from './sheet-output.ts';
import { bringRatesIntoForce } from './statement.ts';

interface ExportOptions extends SheetOptions {
  format: SheetFormat;
  period?: string;
  tenant?: string;
  workspace?: string;
  focusVersion: FocusVersion;
}

export function exportCommand(cli: CliContext): Command {
  const command = plainCommand('export')
    .argument('<view>', 'a view of the ledger, such as finance_usage, or usage for short; or focus')
    .addOption(new Option('--format <format>', 'form of the rows').choices(SHEET_FORMATS).default('csv'))
    .option('--period <period>', 'only this period, YYYY-MM; focus needs it')
    .option('--tenant <id>', 'only this tenant')
    .option('--workspace <id>', 'only this workspace (focus needs it when there are several)')
    .addOption(
      new Option('--focus-version <version>', 'version of the specification').choices(FOCUS_VERSIONS).default('1.2'),
    );
  return addSheetOptions(command)
    .addHelpText(
      'after',
      examples(
        'usage-ledger export usage --period 2026-02 --format xlsx --out february.xlsx',
        'usage-ledger export finance_charges --format parquet --out charges.parquet',
        'usage-ledger export history --format ndjson > history.ndjson',
        'usage-ledger export focus --period 2026-02 > focus-2026-02.csv',
      ),
    )
    .action((view: string, options: ExportOptions) =>
      cli.withContext((context) =>
        view === 'focus' ? exportFocus(cli, context, options) : exportView(cli, context, view, options),
      ),
    );
}

async function exportView(cli: CliContext, context: Context, view: string, options: ExportOptions): Promise<void> {
  const { format, tenant: tenantId, workspace: workspaceId } = options;
  const period = options.period === undefined ? undefined : parsePeriod(options.period, '--period');
  requireKnownWorkspace(context, workspaceId);
  await bringRatesIntoForce(context);
  const sheet = viewSheet(context.reader().connection, view, { workspaceId, tenantId, period });
  await putSheet(cli, sheet, { format, options });
}

async function exportFocus(cli: CliContext, context: Context, options: ExportOptions): Promise<void> {
  const { focusVersion, format, tenant: tenantId } = options;
  if (options.period === undefined) throw new UsageError('focus needs --period', 'give one, such as --period 2026-02');
  const { id: workspaceId } = chooseWorkspace(context.config, options.workspace);
  const period = parsePeriod(options.period, '--period');
  await bringRatesIntoForce(context);
  const { connection } = context.reader();
  // One transaction, so that all rows are of one moment; whoever writes them reads them while it lasts.
  connection.exec('BEGIN');
  try {
    const billed = findBilledPeriod(connection, { workspaceId, period, nowMs: context.clock.now() });
    if (billed === null) cli.note(`the ledger has nothing of ${period}`);
    let unpriced = 0;
    const rows = function* (): Generator<FocusRow[]> {
      if (billed === null) return;
      const names = namesOf(context.config.focus, billed.workspaceName);
      for (const tenant of billedTenants(connection, billed.place, tenantId)) {
        if (tenant.lines.length === 0) unpriced += 1;
        else yield focusRows(billed, tenant, names);
      }
    };
    if (format === 'csv') await putPieces(cli, focusPieces(rows(), focusVersion), options);
    else await putSheet(cli, focusSheet(rows(), focusVersion), { format, options });
    if (unpriced > 0) cli.note(`${unpriced} tenants have no rate card and are left out`);
  } finally {
    connection.exec('COMMIT');
  }
}

function* focusPieces(rows: Iterable<FocusRow[]>, version: FocusVersion): Generator<string> {
  yield focusHeader(version);
  for (const some of rows) yield focusLines(some, version);
}

function focusSheet(rows: Iterable<FocusRow[]>, version: FocusVersion): Sheet {
  const columns = focusColumns(version);
  const values = function* (): Generator<(string | null)[]> {
    for (const some of rows) for (const row of some) yield columns.map((column) => row[column]);
  };
  return { name: 'focus', columns: columns.map((name) => ({ name, kind: focusKind(name) })), rows: values() };
}

function namesOf(focus: FocusConfig, workspaceName: string) {
  return {
    issuer: focus.issuer ?? workspaceName,
    publisher: focus.publisher ?? focus.issuer ?? workspaceName,
    serviceName: focus.serviceName ?? focus.publisher ?? workspaceName,
    serviceCategory: focus.serviceCategory,
    serviceSubcategory: focus.serviceSubcategory,
  };
}
