import { resolve } from 'node:path';
import { Argument, Option } from 'commander';
import { FINANCE_VIEWS } from '../../config/schema/finance-views.ts';
import { UsageError } from '../../core/errors.ts';
import { parsePeriod } from '../../core/period.ts';
import { keepYoungGenerationSmall } from '../../core/process/memory.ts';
import { focusSheetOf, sheetsOfViews } from '../../operations/usage/export-sheets.ts';
import { sheetOfView, type ViewInput } from '../../operations/usage/read-view.ts';
import { SHEET_FORMATS, type SheetFormat } from '../../reports/files/sheet-formats.ts';
import { writeWorkbook } from '../../reports/files/write-sheet.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { noteMissingTenant } from '../shared/missing-tenant.ts';
import {
  addPeriodOptions,
  LIMIT_OPTION,
  noteOmittedRows,
  type PeriodOptions,
  parsePeriods,
} from '../shared/options.ts';
import { noteOtherRates } from './rates.ts';
import {
  addSheetOptions,
  chooseFormat,
  limitRows,
  noteWritten,
  type SheetOptions,
  writeSheet,
} from './sheet-output.ts';

interface ExportOptions extends SheetOptions, PeriodOptions {
  format?: SheetFormat;
  json?: boolean;
  tenant?: string;
  workspace?: string;
}

export function exportCommand(cli: CliContext): CliCommand {
  const command = addPeriodOptions(reportingCommand('export').addArgument(viewArgument()), {
    note: '; required for focus',
  })
    .addOption(new Option('--format <format>', 'output format (default: csv)').choices(SHEET_FORMATS))
    .option(...LIMIT_OPTION)
    .option('--tenant <id>', 'only this tenant')
    .option('--workspace <id>', 'only this workspace (required for focus when there are several)');
  return addSheetOptions(command)
    .examples(
      'usage-ledger export usage charges charge_lines --period 2026-02 --format xlsx --out february.xlsx',
      'usage-ledger export finance_charges --format parquet --out charges.parquet',
      'usage-ledger export history --format ndjson > history.ndjson',
      'usage-ledger export focus --period 2026-02 > focus-2026-02.csv',
    )
    .action((views: string[], options: ExportOptions) =>
      cli.withContext((context) => {
        keepYoungGenerationSmall();
        const [view = '', ...others] = views;
        if (others.length > 0) return exportWorkbook(cli, context, views, options);
        return view === 'focus' ? exportFocus(cli, context, options) : exportView(cli, context, view, options);
      }),
    );
}

/**
 * Lists the views in the help without limiting the argument to them: names such as `finance_usage` also work, and the
 * query rejects unknown views.
 */
function viewArgument(): Argument {
  const argument = new Argument('<view...>', 'views of the ledger, or focus');
  argument.argChoices = [...FINANCE_VIEWS, 'focus'];
  return argument;
}

async function exportView(cli: CliContext, context: Context, view: string, options: ExportOptions): Promise<void> {
  noteOtherRates(cli, context);
  const format = chooseFormat(options, 'csv');
  const rows = await writeSheet(cli, sheetOfView(scopeOf(context), view, viewInput(options)), { format, options });
  const { tenant: tenantId, workspace: workspaceId } = options;
  if (rows === 0) noteMissingTenant(cli, context.reader().connection, { tenantId, workspaceId });
}

function viewInput(options: ExportOptions): ViewInput {
  const { tenant, workspace } = options;
  return { workspace, tenant, ...parsePeriods(options) };
}

async function exportWorkbook(
  cli: CliContext,
  context: Context,
  views: readonly string[],
  options: ExportOptions,
): Promise<void> {
  if (options.format !== 'xlsx' || options.out === undefined) {
    throw new UsageError(
      `${views.length} views need a workbook`,
      'add --format xlsx --out FILE, or export one view at a time',
    );
  }
  noteOtherRates(cli, context);
  const { connection } = context.reader();
  connection.exec('BEGIN');
  try {
    const found = sheetsOfViews(scopeOf(context), views, viewInput(options));
    const limited = found.map((sheet) => ({ sheet, seen: { rows: 0 } }));
    const sheets = limited.map(({ sheet, seen }) => ({ ...sheet, rows: limitRows(sheet.rows, options.limit, seen) }));
    await writeWorkbook(sheets, resolve(cli.io.cwd, options.out));
    noteWritten(cli, options.out);
    for (const { seen } of limited) noteOmittedRows(cli, seen.rows - (options.limit ?? seen.rows));
  } finally {
    connection.exec('COMMIT');
  }
}

async function exportFocus(cli: CliContext, context: Context, options: ExportOptions): Promise<void> {
  const format = chooseFormat(options, 'csv');
  const { tenant, workspace } = options;
  if (options.period === undefined)
    throw new UsageError('focus needs --period', 'add a period, such as --period 2026-02');
  const period = parsePeriod(options.period, '--period');
  noteOtherRates(cli, context);
  const { connection } = context.reader();
  // One transaction keeps all rows consistent with each other.
  connection.exec('BEGIN');
  try {
    const { workspaceId, sheet, gaps } = focusSheetOf(scopeOf(context), { period, workspace, tenant });
    const rows = await writeSheet(cli, sheet, { format, options: { ...options, raw: true } });
    if (rows === 0) noteMissingTenant(cli, connection, { tenantId: tenant, workspaceId });
    if (gaps.unknown.length > 0) cli.note(`the ledger has no data for ${period}`);
    if (gaps.unpriced > 0) cli.note(`${gaps.unpriced} tenants skipped: they have no complete price`);
  } finally {
    connection.exec('COMMIT');
  }
}
