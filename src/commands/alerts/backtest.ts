import type { Accuracy } from '../../alerts/backtest/accuracy.ts';
import { type Backtest, type BacktestAlert, backtest } from '../../alerts/backtest/backtest.ts';
import type { FeedbackLabel } from '../../alerts/state/feedback.ts';
import { settingRemedy } from '../../config/reading/faults.ts';
import { type AlertsInFile, alertsSchema } from '../../config/schema/workspace-settings.ts';
import type { AlertSettings } from '../../config/types.ts';
import { UsageError } from '../../core/errors.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted } from '../../core/text/words.ts';
import { windowBounds } from '../../ledger/store/schema/keys.ts';
import { chooseWorkspace } from '../../operations/workspace-choice.ts';
import { formatInteger, type TableColumn } from '../../reports/formats/columns.ts';
import { renderTable } from '../../reports/formats/table.ts';
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
    .description('Show which alerts these settings would have raised over the recorded history. Changes nothing.')
    .option('--workspace <id>', 'the workspace (required when there are several)')
    .option('--ratio <number>', "the workspace's ratio; tenant settings stay")
    .option('--min-credits <number>', "the workspace's min_credits")
    .option('--from <period>', 'first period, YYYY-MM')
    .option('--to <period>', 'last period, YYYY-MM')
    .examples('usage-ledger alerts backtest --ratio 2 --min-credits 5000')
    .action((options: BacktestOptions) => runBacktest(cli, options));
}

async function runBacktest(cli: CliContext, options: BacktestOptions): Promise<void> {
  const { from = null, to = null } = parsePeriodWindow(options);
  const [first, last] = windowBounds({ from, to });
  const overrides: AlertsInFile = {};
  if (options.ratio !== undefined) overrides.ratio = parseSetting('ratio', options.ratio);
  if (options.minCredits !== undefined) overrides.min_credits = parseSetting('min_credits', options.minCredits);
  const config = await cli.loadConfig((document) => ({
    ...document,
    workspaces: document.workspaces.map((workspace) => ({
      ...workspace,
      alerts: { ...workspace.alerts, ...overrides },
    })),
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
      if (cli.json) return cli.printJson(backtestJson(answer, alerts, { from_period: from, to_period: to }));
      const { runs, firstRunAt, lastRunAt } = answer.history;
      const dates = `${firstRunAt.slice(0, 10)} to ${lastRunAt.slice(0, 10)}`;
      cli.print(`${inertText(id)}: ${formatInteger(runs)} runs replayed, ${dates}, with ${settingWords(alerts)}\n`);
      cli.print(renderTable(alertCountRows(answer.alerts), BACKTEST_COLUMNS, cli.tableOptions));
      for (const line of accuracyLines(answer.accuracy)) cli.print(line);
      cli.note('Silences, plans, acknowledgements and system alerts are not replayed.');
    }),
  );
}

function accuracyLines({ forecasts, likely, cameTrue, leadDays, messagesADay }: Accuracy): string[] {
  const ranges = (['likely', 'happened'] as const).flatMap((level) => {
    const { notified: forecast, held, forecastToActual: ratio } = forecasts[level];
    const accuracy = ratio === null ? '' : `; forecast growth was ${ratio.toFixed(2)} times actual growth`;
    return forecast === 0 ? [] : [`${level}: ${held} of ${forecast} ranges contained the month's total${accuracy}`];
  });
  const lead = leadDays === null ? '' : `, ${leadDays.toFixed(1)} days ahead`;
  const came = likely === 0 ? [] : [`${cameTrue} of ${likely} likely alerts came true${lead}`];
  return [...ranges, ...came, `${messagesADay.toFixed(2)} messages a day`];
}

function parseSetting(setting: 'ratio' | 'min_credits', text: string): number | undefined {
  const parsed = alertsSchema.shape[setting].safeParse(text);
  if (parsed.success) return parsed.data;
  const option = `--${setting.replace('_', '-')}`;
  const hint = `${option}: ${settingRemedy(`defaults.alerts.${setting}`)}`;
  throw new UsageError(`${option} ${JSON.stringify(text)} is out of range`, hint);
}

function settingWords({ ratio, minCredits, baseline, tenants }: AlertSettings): string {
  const patterns = tenants.length === 0 ? [] : [counted(tenants.length, 'tenant pattern')];
  return [`ratio ${ratio}`, `min_credits ${formatInteger(minCredits)}`, baseline, ...patterns].join(', ');
}

/** Counts for one rule in one period; the last row has `all` for both. */
interface CountRow {
  period: string;
  rule: string;
  alerts: number;
  notifications: number;
  /** How many alerts labelled real, or false, these settings would raise, such as `3 of 4`. */
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

function alertCountRows(alerts: readonly BacktestAlert[]): CountRow[] {
  const groups = [...Map.groupBy(alerts, ({ period, rule }) => `${period} ${rule}`)];
  const rows = groups.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, group]) => countRow(name, group));
  return [...rows, countRow('all all', alerts)];
}

function countRow(name: string, alerts: readonly BacktestAlert[]): CountRow {
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

function shareRaised(alerts: readonly BacktestAlert[], label: FeedbackLabel): string {
  const labelled = alerts.filter((alert) => alert.label === label);
  return labelled.length === 0 ? '' : `${labelled.filter(({ level }) => level !== null).length} of ${labelled.length}`;
}

function backtestJson({ history, alerts, accuracy }: Backtest, settings: AlertSettings, filters: object): object {
  return {
    workspace_id: history.workspaceId,
    filters,
    history: { runs: history.runs, first_run_at: history.firstRunAt, last_run_at: history.lastRunAt },
    settings: { ratio: settings.ratio, min_credits: settings.minCredits, baseline: settings.baseline },
    accuracy: {
      likely: forecastJson(accuracy.forecasts.likely),
      happened: forecastJson(accuracy.forecasts.happened),
      notified_as_likely: accuracy.likely,
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

function forecastJson({ notified, held, forecastToActual }: Accuracy['forecasts']['likely']): object {
  return { forecasts: notified, held, forecast_to_actual: forecastToActual };
}
