import type { Accuracy } from '../../alerts/backtest/accuracy.ts';
import { type Backtest, type BacktestAlert, backtest } from '../../alerts/backtest/backtest.ts';
import type { FeedbackLabel } from '../../alerts/track/feedback.ts';
import { remedyFor } from '../../config/reading/faults.ts';
import { type AlertsInFile, alertsSchema } from '../../config/schema/workspace-settings.ts';
import type { AlertSettings } from '../../config/types.ts';
import { UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { windowBounds } from '../../ledger/store/schema/keys.ts';
import { formatInteger, type TableColumn } from '../../reports/formats/columns.ts';
import { renderTable } from '../../reports/formats/table.ts';
import { chooseWorkspace } from '../shared/choose-workspace.ts';
import { type CliCommand, type CliContext, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
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
    .description('Show which alerts these settings would have sent over the recorded history. Changes nothing.')
    .option('--workspace <id>', 'the workspace (needed when there are several)')
    .option('--ratio <number>', "the workspace's ratio; tenants' own settings stay")
    .option('--min-credits <number>', 'its min_credits')
    .option('--from <period>', 'only from this period on, YYYY-MM')
    .option('--to <period>', 'only up to this period, YYYY-MM')
    .examples('usage-ledger alerts backtest --ratio 2 --min-credits 5000')
    .action((options: BacktestOptions) => runBacktest(cli, options));
}

async function runBacktest(cli: CliContext, options: BacktestOptions): Promise<void> {
  const { from = null, to = null } = parsePeriodWindow(options);
  const [first, last] = windowBounds({ from, to });
  const own: AlertsInFile = {};
  if (options.ratio !== undefined) own.ratio = parseSetting('ratio', options.ratio);
  if (options.minCredits !== undefined) own.min_credits = parseSetting('min_credits', options.minCredits);
  const config = await cli.loadConfig((document) => ({
    ...document,
    workspaces: document.workspaces.map((workspace) => ({ ...workspace, alerts: { ...workspace.alerts, ...own } })),
  }));
  const { id, alerts, lookbackPeriods, settleHours } = chooseWorkspace(config, options.workspace);
  await withStopSignal((signal) =>
    cli.withContext(async (context) => {
      const progress = await startProgress(cli, inertText(id), 'runs');
      const answer = await backtest({
        ledger: context.reader().connection,
        workspaceId: id,
        settings: { rules: alerts, lookbackPeriods, settleHours },
        window: { from: first, to: last },
        signal,
        onProgress: ({ runs, totalRuns }) => progress.update(runs, totalRuns),
      }).finally(progress.stop);
      if (cli.json) return cli.printJson(inJson(answer, alerts, { from_period: from, to_period: to }));
      const { runs, firstRunAt, lastRunAt } = answer.history;
      const dates = `${firstRunAt.slice(0, 10)} to ${lastRunAt.slice(0, 10)}`;
      cli.print(`${inertText(id)}: ${formatInteger(runs)} runs replayed, ${dates}, by ${settingWords(alerts)}\n`);
      cli.print(renderTable(countRows(answer.alerts), BACKTEST_COLUMNS, cli.tableOptions));
      for (const line of accuracyLines(answer.accuracy)) cli.print(line);
      cli.note('silences, plans, acknowledgements and alerts about ourselves are left out');
    }),
  );
}

function accuracyLines({ forecasts, likely, cameTrue, leadDays, messagesADay }: Accuracy): string[] {
  const ranges = (['likely', 'happened'] as const).flatMap((level) => {
    const { told, held, saidBesideTrue } = forecasts[level];
    const beside =
      saidBesideTrue === null ? '' : `; the rest said was ${saidBesideTrue.toFixed(2)} times the one that came`;
    return told === 0 ? [] : [`${level}: ${held} of ${told} ranges held the month's end${beside}`];
  });
  const lead = leadDays === null ? '' : `, ${leadDays.toFixed(1)} days before it had happened`;
  const came = likely === 0 ? [] : [`${cameTrue} of ${likely} told as likely came true${lead}`];
  return [...ranges, ...came, `${messagesADay.toFixed(2)} messages a day`];
}

function parseSetting(setting: 'ratio' | 'min_credits', text: string): number | undefined {
  const parsed = alertsSchema.shape[setting].safeParse(text);
  if (parsed.success) return parsed.data;
  const option = `--${setting.replace('_', '-')}`;
  const hint = `${option}: ${remedyFor(`defaults.alerts.${setting}`)}`;
  throw new UsageError(`${option} ${JSON.stringify(text)} is out of range`, hint);
}

function settingWords({ ratio, minCredits, baseline, tenants }: AlertSettings): string {
  const patterns = tenants.length === 0 ? [] : [counted(tenants.length, 'tenant pattern')];
  return [`ratio ${ratio}`, `min_credits ${formatInteger(minCredits)}`, baseline, ...patterns].join(', ');
}

/** What is told of one rule in one period; both are `all` in the last row. */
interface CountRow {
  period: string;
  rule: string;
  alerts: number;
  notifications: number;
  /** Of those that people have called real, and false, how many are told. */
  real: string;
  wrong: string;
}

const BACKTEST_COLUMNS: TableColumn<CountRow>[] = [
  { name: 'period', header: 'Period' },
  { name: 'rule', header: 'Rule' },
  { name: 'alerts', header: 'Alerts' },
  { name: 'notifications', header: 'Notified' },
  { name: 'real', header: 'Real told', align: 'right' },
  { name: 'wrong', header: 'False told', align: 'right' },
];

function countRows(alerts: readonly BacktestAlert[]): CountRow[] {
  const groups = [...Map.groupBy(alerts, ({ period, rule }) => `${period} ${rule}`)];
  const rows = groups.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, own]) => countRow(name, own));
  return [...rows, countRow('all all', alerts)];
}

function countRow(name: string, alerts: readonly BacktestAlert[]): CountRow {
  const [period = '', rule = ''] = name.split(' ');
  const told = alerts.filter(({ level }) => level !== null);
  const notifications = told.reduce((sum, alert) => sum + alert.notifications, 0);
  return {
    period,
    rule,
    alerts: told.length,
    notifications,
    real: partTold(alerts, 'real'),
    wrong: partTold(alerts, 'false'),
  };
}

function partTold(alerts: readonly BacktestAlert[], label: FeedbackLabel): string {
  const labelled = alerts.filter((alert) => alert.label === label);
  return labelled.length === 0 ? '' : `${labelled.filter(({ level }) => level !== null).length} of ${labelled.length}`;
}

function inJson({ history, alerts, accuracy }: Backtest, settings: AlertSettings, filters: object): object {
  return {
    workspace_id: history.workspaceId,
    filters,
    history: { runs: history.runs, first_run_at: history.firstRunAt, last_run_at: history.lastRunAt },
    settings: { ratio: settings.ratio, min_credits: settings.minCredits, baseline: settings.baseline },
    accuracy: {
      likely: forecastJson(accuracy.forecasts.likely),
      happened: forecastJson(accuracy.forecasts.happened),
      told_as_likely: accuracy.likely,
      came_true: accuracy.cameTrue,
      lead_days: accuracy.leadDays,
      messages_a_day: accuracy.messagesADay,
    },
    alerts: alerts.map(({ period, rule, tenantId, level, firstFiredAt, notifications, label }) => ({
      period,
      rule,
      tenant_id: tenantId,
      level,
      first_fired_at: firstFiredAt,
      notifications,
      label,
    })),
  };
}

function forecastJson({ told, held, saidBesideTrue }: Accuracy['forecasts']['likely']): object {
  return { forecasts: told, held, rest_said_beside_true: saidBesideTrue };
}
