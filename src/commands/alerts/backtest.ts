import type { FeedbackLabel } from '../../alerts/state/feedback.ts';
import { settingRemedy } from '../../config/reading/faults.ts';
import { alertsSchema } from '../../config/schema/workspace-settings.ts';
import { UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { type BacktestRecord, replayHistory } from '../../operations/alerts/backtest-settings.ts';
import { chooseWorkspace } from '../../operations/workspace-choice.ts';
import { formatInteger, type TableColumn } from '../../reports/formats/columns.ts';
import { renderTable } from '../../reports/formats/table.ts';
import { type CliCommand, type CliContext, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { parsePeriodWindow } from '../shared/options.ts';
import { startProgress } from '../shared/progress.ts';

interface BacktestOptions {
  workspace?: string;
  ratio?: string;
  minCredits?: string;
  from?: string;
  to?: string;
}

export function backtestCommand(cli: CliContext): CliCommand {
  return reportingCommand('backtest')
    .description('Show which alerts these settings would have raised over the recorded history. Changes nothing.')
    .option('--workspace <id>', 'the workspace (required when there are several)')
    .option('--ratio <number>', "the workspace's ratio; tenant settings stay")
    .option('--min-credits <number>', "the workspace's min_credits")
    .option('--from <period>', 'first period, YYYY-MM')
    .option('--to <period>', 'last period, YYYY-MM')
    .examples('usage-ledger alerts backtest --ratio 2 --min-credits 5000')
    .action((options: BacktestOptions) => runBacktest(cli, options));
}

async function runBacktest(
  cli: CliContext,
  { workspace, from, to, ratio, minCredits }: BacktestOptions,
): Promise<void> {
  const input = {
    workspace,
    ...parsePeriodWindow({ from, to }),
    ratio: ratio === undefined ? undefined : parseSetting('ratio', ratio),
    min_credits: minCredits === undefined ? undefined : parseSetting('min_credits', minCredits),
  };
  await withStopSignal((signal) =>
    cli.withContext(async (context) => {
      const { id } = chooseWorkspace(context.config, workspace);
      const progress = await startProgress(cli, inertText(id), 'runs');
      const scope = scopeOf(context, { signal });
      const onProgress = ({ runs, totalRuns }: { runs: number; totalRuns: number }) => progress.update(runs, totalRuns);
      const record = await replayHistory(scope, input, onProgress).finally(progress.stop);
      if (cli.json) return cli.printJson(record);
      const { runs, first_run_at, last_run_at } = record.history;
      const dates = `${first_run_at.slice(0, 10)} to ${last_run_at.slice(0, 10)}`;
      const settings = settingWords(record.settings);
      cli.print(`${inertText(id)}: ${formatInteger(runs)} runs replayed, ${dates}, with ${settings}\n`);
      cli.print(renderTable(alertCountRows(record.alerts), BACKTEST_COLUMNS, cli.tableOptions));
      for (const line of accuracyLines(record.accuracy)) cli.print(line);
      cli.note('Silences, plans, acknowledgements and system alerts are not replayed.');
    }),
  );
}

function accuracyLines(accuracy: BacktestRecord['accuracy']): string[] {
  const ranges = (['likely', 'happened'] as const).flatMap((level) => {
    const { forecasts, held, forecast_to_actual: ratio } = accuracy[level];
    const growth = ratio === null ? '' : `; forecast growth was ${ratio.toFixed(2)} times actual growth`;
    return forecasts === 0 ? [] : [`${level}: ${held} of ${forecasts} ranges contained the month's total${growth}`];
  });
  const { notified_as_likely: likely, came_true: cameTrue, lead_days: leadDays, messages_a_day: messages } = accuracy;
  const lead = leadDays === null ? '' : `, ${leadDays.toFixed(1)} days ahead`;
  const came = likely === 0 ? [] : [`${cameTrue} of ${likely} likely alerts came true${lead}`];
  return [...ranges, ...came, `${messages.toFixed(2)} messages a day`];
}

function parseSetting(setting: 'ratio' | 'min_credits', text: string): number | undefined {
  const parsed = alertsSchema.shape[setting].safeParse(text);
  if (parsed.success) return parsed.data;
  const option = `--${setting.replace('_', '-')}`;
  const hint = `${option}: ${settingRemedy(`defaults.alerts.${setting}`)}`;
  throw new UsageError(`${option} ${JSON.stringify(text)} is out of range`, hint);
}

function settingWords({ ratio, min_credits, baseline, tenant_patterns }: BacktestRecord['settings']): string {
  const patterns = tenant_patterns === 0 ? [] : [counted(tenant_patterns, 'tenant pattern')];
  return [`ratio ${ratio}`, `min_credits ${formatInteger(min_credits)}`, baseline, ...patterns].join(', ');
}

/** The numbers for one rule in one period. The last row has `all` for both. */
interface CountRow {
  period: string;
  rule: string;
  alerts: number;
  notifications: number;
  /** How many of the alerts labelled real (`real`) or false (`wrong`) these settings would raise, such as `3 of 4`. */
  real: string;
  wrong: string;
}

const BACKTEST_COLUMNS: TableColumn<CountRow>[] = [
  { name: 'period', header: 'Period' },
  { name: 'rule', header: 'Rule' },
  { name: 'alerts', header: 'Alerts' },
  { name: 'notifications', header: 'Notified' },
  { name: 'real', header: 'Real', align: 'right' },
  { name: 'wrong', header: 'False', align: 'right' },
];

function alertCountRows(alerts: BacktestRecord['alerts']): CountRow[] {
  const groups = [...Map.groupBy(alerts, ({ period, rule }) => `${period} ${rule}`)];
  const rows = groups.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, group]) => countRow(name, group));
  return [...rows, countRow('all all', alerts)];
}

function countRow(name: string, alerts: BacktestRecord['alerts']): CountRow {
  const [period = '', rule = ''] = name.split(' ');
  const raised = alerts.filter(({ level }) => level !== null);
  const notifications = raised.reduce((sum, alert) => sum + alert.notifications, 0);
  return {
    period,
    rule,
    alerts: raised.length,
    notifications,
    real: shareRaised(alerts, 'real'),
    wrong: shareRaised(alerts, 'false'),
  };
}

function shareRaised(alerts: BacktestRecord['alerts'], label: FeedbackLabel): string {
  const labelled = alerts.filter((alert) => alert.label === label);
  return labelled.length === 0 ? '' : `${labelled.filter(({ level }) => level !== null).length} of ${labelled.length}`;
}
