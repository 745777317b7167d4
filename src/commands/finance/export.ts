import { type Command, Option } from 'commander';
import { FOCUS_VERSIONS, type FocusVersion } from '../../billing/focus/focus-columns.ts';
import { UsageError } from '../../core/errors.ts';
import { parsePeriod } from '../../core/period.ts';
import { SHEET_FORMATS, type SheetFormat } from '../../reports/files/write-sheet.ts';
import { viewSheet } from '../../reports/queries/finance-view.ts';
import { readFocusSheet } from '../../reports/statement/focus-sheet.ts';
import type { Context } from '../../wiring/context.ts';
import { chooseWorkspace, requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { type CliContext, examples, plainCommand } from '../shared/cli-context.ts';
import { addSheetOptions, putSheet, type SheetOptions } from './sheet-output.ts';
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
  // One transaction, so that all rows are of one moment.
  connection.exec('BEGIN');
  try {
    const request = {
      workspaceIds: [workspaceId],
      period,
      tenantId,
      version: focusVersion,
      nowMs: context.clock.now(),
    };
    const { sheet, gaps } = readFocusSheet(connection, { ...request, focus: context.config.focus });
    await putSheet(cli, sheet, { format, options: { ...options, raw: true } });
    if (gaps.unknown.length > 0) cli.note(`the ledger has nothing of ${period}`);
    if (gaps.unpriced > 0) cli.note(`${gaps.unpriced} tenants have no rate card and are left out`);
  } finally {
    connection.exec('COMMIT');
  }
}
