import { resolve } from 'node:path';
import type { Command } from 'commander';
import { backtest } from '../../alerts/backtest/backtest.ts';
import { loadAlertsOnTrial, parseAlertNumber, withAlertsOnTrial } from '../../config/alerts-on-trial.ts';
import { remedyFor } from '../../config/reading/remedies.ts';
import type { FileAlerts } from '../../config/schema.ts';
import type { AlertSettings } from '../../config/types.ts';
import { UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { windowBounds } from '../../ledger/schema/keys.ts';
import { chooseWorkspace } from '../shared/choose-workspace.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';
import { parsePeriodWindow } from '../shared/period-window.ts';
import { createReplayView } from '../shared/progress.ts';
import { withStopSignal } from '../shared/stop-signal.ts';
import { backtestJson } from './backtest-json.ts';
import { backtestWords } from './backtest-words.ts';

interface BacktestOptions {
  workspace?: string;
  ratio?: string;
  minCredits?: string;
  ruleFile?: string;
  from?: string;
  to?: string;
}

const LEFT_OUT = `
Every recorded run is gone through again, at its own time, by the rules as they are now. Left out, on both sides:
silences and plans, acknowledgements, and alerts about ourselves (sync_failed and the like), so both columns show what
the rules say of the usage. What the first run found is seeded silently, as it was, and not counted. Both sides use
today's lookback_periods and settle_hours. The ledger is only read.`;

export function backtestCommand(cli: CliContext): Command {
  return reportingCommand('backtest')
    .description(
      'Try other alert settings on the recorded history: which alerts they would have given, and when, beside ' +
        "those of today's settings.",
    )
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .option('--ratio <number>', "another ratio for the workspace; tenants' own settings stay")
    .option('--min-credits <number>', "another min_credits for the workspace; tenants' own settings stay")
    .option('--rule-file <file>', "YAML that takes the place of what stands below the workspace's `alerts:`")
    .option('--from <period>', 'compare alerts about this period and later ones, YYYY-MM')
    .option('--to <period>', 'compare alerts about this period and earlier ones, YYYY-MM')
    .addHelpText('after', LEFT_OUT)
    .addHelpText(
      'after',
      examples(
        'usage-ledger alerts backtest --ratio 2',
        'usage-ledger alerts backtest --workspace ws-123 --min-credits 5000 --from 2026-01 --to 2026-06',
        'usage-ledger alerts backtest --rule-file quieter.yml --json',
      ),
    )
    .action((options: BacktestOptions) => runBacktest(cli, options));
}

async function runBacktest(cli: CliContext, options: BacktestOptions): Promise<void> {
  const { from = null, to = null } = parsePeriodWindow(options);
  const [first, last] = windowBounds({ from, to });
  const window = { from: first, to: last };
  const own = ownSettings(options);
  const workspace = chooseWorkspace(await cli.loadConfig(), options.workspace);
  const proposed = await proposedSettings(cli, workspace.id, own, options.ruleFile);
  const settings = { today: workspace.alerts, proposed };
  if (own === null && options.ruleFile === undefined) {
    cli.note("nothing is proposed, so both sides show today's settings; try --ratio, --min-credits or --rule-file");
  }
  await withStopSignal((signal) =>
    cli.withContext(async (context) => {
      const progress = await createReplayView(cli, inertText(workspace.id));
      const { lookbackPeriods, settleHours } = workspace;
      const { history, comparison, labelled } = await backtest({
        ledger: context.reader().connection,
        workspaceId: workspace.id,
        settings: {
          today: { rules: settings.today, lookbackPeriods, settleHours },
          proposed: { rules: settings.proposed, lookbackPeriods, settleHours },
        },
        window,
        signal,
        onProgress: progress.onProgress,
      }).finally(progress.stop);
      if (cli.json) {
        const filters = { from_period: options.from ?? null, to_period: options.to ?? null };
        cli.printJson(backtestJson({ history, comparison, labelled, settings, filters }));
        return;
      }
      cli.print(backtestWords({ history, comparison, labelled, settings }, cli.tableOptions));
      cli.note('silences, plans, acknowledgements and alerts about ourselves are left out on both sides');
    }),
  );
}

/** What the options for single settings say; null when none is given. */
function ownSettings({ ratio, minCredits }: BacktestOptions): FileAlerts | null {
  if (ratio === undefined && minCredits === undefined) return null;
  return {
    ...(ratio === undefined ? {} : { ratio: parseSetting('ratio', '--ratio', ratio) }),
    ...(minCredits === undefined ? {} : { min_credits: parseSetting('min_credits', '--min-credits', minCredits) }),
  };
}

function parseSetting(setting: 'ratio' | 'min_credits', option: string, text: string): number {
  const value = parseAlertNumber(setting, text);
  if (value !== null) return value;
  throw new UsageError(`${option} ${JSON.stringify(text)} is out of range`, `${option}: ${remedyFor(setting)}`);
}

/** The settings as they would be if they stood in the configuration, with what `defaults` and tenants add to them. */
async function proposedSettings(
  cli: CliContext,
  workspaceId: string,
  own: FileAlerts | null,
  ruleFile: string | undefined,
): Promise<AlertSettings> {
  const file = ruleFile === undefined ? null : loadAlertsOnTrial(resolve(cli.io.cwd, ruleFile), cli.io.env);
  const config = await cli.loadConfig((document) => withAlertsOnTrial(document, workspaceId, { file, own: own ?? {} }));
  return chooseWorkspace(config, workspaceId).alerts;
}
