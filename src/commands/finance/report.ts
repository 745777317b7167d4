import { resolve } from 'node:path';
import { parsePeriod } from '../../core/period.ts';
import { chooseWorkspace, unknownPeriod } from '../../operations/workspace-choice.ts';
import { writeTextFile } from '../../reports/files/write-sheet.ts';
import { readPageData } from '../../reports/page/page-data.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, plainCommand } from '../shared/cli-context.ts';
import { noteOtherRates } from './rates.ts';
import { noteWritten } from './sheet-output.ts';

interface ReportOptions {
  period?: string;
  workspace?: string;
  out: string;
}

export function reportCommand(cli: CliContext): CliCommand {
  return plainCommand('report')
    .requiredOption('--out <file>', 'the HTML file to write')
    .option('--period <period>', 'the last period shown, YYYY-MM (default: the latest)')
    .option('--workspace <id>', 'the workspace (required when there are several)')
    .examples('usage-ledger report --out usage.html', 'usage-ledger report --period 2026-02 --out february.html')
    .action((options: ReportOptions) => cli.withContext((context) => writeReport(cli, context, options)));
}

async function writeReport(cli: CliContext, context: Context, options: ReportOptions): Promise<void> {
  const period = options.period === undefined ? undefined : parsePeriod(options.period, '--period');
  const { id: workspaceId, timezone, alerts } = chooseWorkspace(context.config, options.workspace);
  noteOtherRates(cli, context);
  const { connection } = context.reader();
  const request = { workspaceId, period, nowMs: context.clock.now(), timezone, budgets: alerts.budgets ?? [] };
  const data = connection.transaction(() => readPageData(connection, request))();
  if (data === null) throw unknownPeriod(period ?? 'any month', workspaceId);
  const [{ createCharts }, { drawWorkspace }, { workspaceDocument }] = await Promise.all([
    import('../../reports/page/charts.ts'),
    import('../../reports/page/draw-charts.ts'),
    import('../../reports/page/report-document.tsx'),
  ]);
  const charts = drawWorkspace(data, await createCharts());
  await writeTextFile(resolve(cli.io.cwd, options.out), [workspaceDocument(data, charts)]);
  noteWritten(cli, options.out);
}
