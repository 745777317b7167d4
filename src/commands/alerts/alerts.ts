import { Argument, Option } from 'commander';
import { localSummary, placeOf } from '../../alerts/messages/facts/phrases.ts';
import { mutedBy, mutedWords } from '../../alerts/messages/muted.ts';
import type { ListedAlert } from '../../alerts/queries/alerts.ts';
import { usageRulesWith } from '../../alerts/rules/rules.ts';
import { FEEDBACK_LABELS, type FeedbackLabel } from '../../alerts/state/feedback.ts';
import { formatMinute } from '../../core/date-time.ts';
import { parsePeriod } from '../../core/period.ts';
import {
  ALERT_STATES,
  type AlertState,
  RULES,
  type RuleName,
  ruleNameWithCause,
  SEVERITIES,
  type Severity,
} from '../../core/text/alert-words.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { counted, cutAtClause } from '../../core/text/words.ts';
import { labelAlert } from '../../operations/alerts/label-alert.ts';
import { listAlerts, type SummarizedAlert } from '../../operations/alerts/list-alerts.ts';
import { listUndelivered, replayMessages, UNDELIVERED_COLUMNS } from '../../operations/alerts/replay-messages.ts';
import { testChannel } from '../../operations/alerts/test-channel.ts';
import { ALL_ROWS } from '../../operations/operation.ts';
import {
  type CellStyle,
  formatDecimal,
  formatInteger,
  relativeTime,
  type TableColumn,
} from '../../reports/formats/columns.ts';
import { paint, renderTable, type TableOptions, textWidth, wrapText } from '../../reports/formats/table.ts';
import type { Context } from '../../wiring/context.ts';
import { CliCommand, type CliContext, EXIT, reportingCommand, withStopSignal } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { noteMissingTenant } from '../shared/missing-tenant.ts';
import { BY_OPTION, firstRows, LIMIT_OPTION, printRows } from '../shared/options.ts';
import { ackCommand, explainCommand, showCommand } from './alert-record.ts';
import { backtestCommand } from './backtest.ts';
import { planCommand, silenceCommand, silencesCommand, unsilenceCommand } from './silences.ts';

interface ListOptions {
  state?: AlertState;
  all?: boolean;
  pending?: boolean;
  workspace?: string;
  tenant?: string;
  period?: string;
  rule?: RuleName;
  severity?: Severity;
  limit?: number;
}

export function alertsCommand(cli: CliContext): CliCommand {
  return new CliCommand('alerts')
    .addCommand(listAlertsCommand(cli), { isDefault: true })
    .addCommand(showCommand(cli))
    .addCommand(explainCommand(cli))
    .addCommand(ackCommand(cli))
    .addCommand(feedbackCommand(cli))
    .addCommand(silenceCommand(cli))
    .addCommand(planCommand(cli))
    .addCommand(silencesCommand(cli))
    .addCommand(unsilenceCommand(cli))
    .addCommand(testCommand(cli))
    .addCommand(replayCommand(cli))
    .addCommand(backtestCommand(cli))
    .examples('usage-ledger alerts', 'usage-ledger alerts list --all', 'usage-ledger alerts test on-call');
}

function listAlertsCommand(cli: CliContext): CliCommand {
  return reportingCommand('list')
    .description('List open alerts by severity and size.')
    .addOption(new Option('--state <state>', 'only alerts in this state').choices(ALERT_STATES))
    .addOption(new Option('--all', 'alerts in any state').conflicts('state'))
    .addOption(new Option('--pending', 'include pending alerts').conflicts(['state', 'all']))
    .option('--workspace <id>', 'only this workspace')
    .option('--tenant <id>', 'only this tenant')
    .option('--period <period>', 'only this period, YYYY-MM')
    .addOption(new Option('--rule <rule>', 'only this rule').choices(RULES))
    .addOption(new Option('--severity <severity>', 'only this severity').choices(SEVERITIES))
    .option(...LIMIT_OPTION)
    .examples(
      'usage-ledger alerts list --pending',
      'usage-ledger alerts list --rule jump --severity critical --limit 10',
    )
    .action((options: ListOptions) => cli.withContext((context) => showAlerts(cli, context, options)));
}

function showAlerts(cli: CliContext, context: Context, { limit, ...options }: ListOptions): void {
  const { workspace, tenant, rule, severity } = options;
  const scope = scopeOf(context);
  const period = options.period === undefined ? undefined : parsePeriod(options.period, '--period');
  const { head, rows, matching } = listAlerts.run(scope, { ...options, period }, ALL_ROWS);
  const isFiltered = [tenant, period, rule, severity].some((filter) => filter !== undefined);
  if (matching.length === 0) {
    cli.note(head.filters.states === 'open' && !isFiltered ? 'no open alerts' : 'no alert matches');
    noteMissingTenant(cli, scope.connection, { tenantId: tenant, workspaceId: workspace });
  }
  const isOnePlace = new Set(firstRows(cli, matching, limit).map(placeOf)).size === 1;
  const shown = limitRows(rows, limit);
  if (cli.json) {
    cli.printJson({ ...head, alerts: [...shown] });
    return;
  }
  const alerts: SummarizedAlert[] = [];
  if (cli.tableOptions.width !== undefined) {
    // Print each alert as soon as its summary is ready: many alerts take seconds.
    for (const alert of shown) {
      alerts.push(alert);
      for (const line of alertLines(alert, isOnePlace, cli.tableOptions)) cli.print(line);
    }
  } else if (matching.length > 0) {
    alerts.push(...shown);
    cli.print(renderTable(alerts, tableColumns(alerts)));
  }
  const quiet = alerts.filter(({ muted_because }) => mutedBy(muted_because) !== null).length;
  if (quiet > 0) cli.note(`${counted(quiet, 'alert is', 'alerts are')} muted or inhibited`);
}

const SHORT_STATES: Partial<Record<AlertState, string>> = {
  pending: 'wait',
  acknowledged: 'ack',
  resolved: 'ok',
  expired: 'past',
};

/** Returns the word in front of an alert: its feedback, else its state, else (while it is firing) its severity. */
function alertMark(alert: ListedAlert): string {
  if (alert.feedback !== null) return alert.feedback === 'expected' ? 'known' : alert.feedback;
  const isQuiet = mutedBy(alert.muted_because) !== null;
  return SHORT_STATES[alert.state] ?? (isQuiet ? 'muted' : alert.severity === 'critical' ? 'CRIT' : 'warn');
}

const MARK_WIDTH = 5;
const ALERT_INDENT = ' '.repeat(MARK_WIDTH + '2026-03-11'.length + 4);

/**
 * Formats an alert for a terminal: the summary, cut at a clause or word; the id, which is never cut, with the size; and
 * why it is muted. The workspace is left out of the summary if all alerts are from the same one.
 */
function alertLines(
  alert: SummarizedAlert,
  isOnePlace: boolean,
  { width = 80, color = false }: TableOptions,
): string[] {
  const { alert_id, first_fired_at } = alert;
  const mark = paint(alertMark(alert).padStart(MARK_WIDTH), color ? alertStyle(alert) : undefined);
  const since = (first_fired_at ?? '').slice(0, 10).padEnd(10);
  const room = Math.max(20, width - ALERT_INDENT.length);
  const text = inertText(isOnePlace ? localSummary(alert) : alert.summary);
  const size = stakeText(alert);
  const line = `${alert_id}  ${size}`.trimEnd();
  const details = [...(textWidth(line) <= room ? [line] : [alert_id, size]), mutedWords(alert.muted_because) ?? ''];
  return [
    `${mark}  ${since}  ${textWidth(text) <= room ? text : firstClauses(text, room)}`,
    ...details.flatMap((words) => (words === '' ? [] : wrapText(words, room))).map((line) => `${ALERT_INDENT}${line}`),
  ];
}

function firstClauses(text: string, room: number): string {
  const line = wrapText(text, room - 1)[0] ?? '';
  return cutAtClause(`${line} `) ?? `${line}…`;
}

function alertStyle({ state, severity }: ListedAlert): CellStyle {
  return state !== 'firing' ? 'dim' : severity === 'critical' ? 'red' : 'yellow';
}

function stakeText({ at_stake_credits: credits, at_stake_money: money, ...alert }: SummarizedAlert): string {
  if (credits === null || credits === 0n) return '';
  const cost = money === null ? '' : ` (${formatAlertMoney(money)})`;
  const end = alert.at_stake_by_month_end ? ' by month end' : '';
  return `difference: ${formatInteger(credits)} credits${end}${cost}`;
}

function formatAlertMoney(money: ListedAlert['at_stake_money']): string {
  return money === null ? '' : `${formatDecimal(money.amount)} ${money.currency}`;
}

function tableColumns(alerts: readonly SummarizedAlert[]) {
  const isPriced = alerts.some(({ at_stake_money }) => at_stake_money !== null);
  const several = new Set(alerts.map(({ workspace_id }) => workspace_id)).size > 1;
  const columns: TableColumn<SummarizedAlert>[] = [
    { name: 'severity', header: '', align: 'right', words: (_, row) => alertMark(row) },
    { name: 'first_fired_at', header: 'Since', words: (at) => (at === null ? '' : formatMinute(at)) },
    { name: 'rule', header: 'Rule', words: (rule, row) => ruleWords(rule, row) },
    ...(several ? [{ name: 'workspace_id' as const, header: 'Workspace' }] : []),
    { name: 'tenant_id', header: 'Tenant', words: (_, row) => tenantWords(row) },
    { name: 'period', header: 'Period', align: 'right', words: (period) => period ?? '' },
    { name: 'at_stake_credits', header: 'Difference', align: 'right' },
    ...(isPriced
      ? [{ name: 'at_stake_money' as const, header: 'Cost', align: 'right' as const, words: formatAlertMoney }]
      : []),
    { name: 'alert_id', header: 'Alert' },
    { name: 'muted_because', header: 'Muted', sparse: true, words: (reason) => mutedWords(reason) ?? '' },
    { name: 'summary', header: 'Summary' },
  ];
  return columns;
}

function ruleWords(rule: string, { level, cause }: ListedAlert): string {
  return STAGED.includes(rule) ? `${rule} ${level}` : ruleNameWithCause(rule, cause);
}

function tenantWords({ tenant_id, tenant_name }: ListedAlert): string {
  return tenant_name === null ? (tenant_id ?? '') : `${tenant_name} (${tenant_id})`;
}

const STAGED: readonly string[] = usageRulesWith(({ levels }) => levels?.fromForecast === true);

function testCommand(cli: CliContext): CliCommand {
  return reportingCommand('test')
    .description('Send a test message through a channel and show the response.')
    .argument('<channel>', 'the channel name')
    .examples('usage-ledger alerts test on-call')
    .action((channel: string) =>
      cli.withContext((context) =>
        withStopSignal(async (signal) => {
          const { document } = await testChannel.run(scopeOf(context, { signal }), { channel });
          const { type, outcome, answer, latency_ms: latencyMs, remedy } = document;
          if (outcome !== 'delivered') cli.exitCode = EXIT.failed;
          const how = outcome === 'delivered' ? 'delivered' : 'not delivered';
          cli.printResult(document, [
            `${inertText(document.channel)} (${type}): ${how} in ${latencyMs} ms: ${inertText(answer)}`,
            remedy === null ? null : `  ${remedy}`,
          ]);
        }),
      ),
    );
}

function replayCommand(cli: CliContext): CliCommand {
  return reportingCommand('replay')
    .description('Send undelivered messages again, with current figures. Without arguments: list them.')
    .argument('[id...]', 'message ids, msg_...')
    .option('--all-dead', 'all undelivered messages, and those that wait for a retry')
    .examples('usage-ledger alerts replay msg_5f0c3b6a9d2e', 'usage-ledger alerts replay --all-dead')
    .action((ids: string[], { allDead }: { allDead?: boolean }) =>
      cli.withContext((context) => {
        if (ids.length === 0 && allDead !== true) return listDead(cli, context);
        return replay(cli, context, { notification_ids: ids, all: allDead === true });
      }),
    );
}

function listDead(cli: CliContext, context: Context): void {
  const dead = [...listUndelivered.run(scopeOf(context), {}, ALL_ROWS).rows];
  if (dead.length === 0) cli.note('no undelivered messages');
  const nowMs = context.clock.now();
  const columns = UNDELIVERED_COLUMNS.map((column) =>
    column.name === 'created_at' ? { ...column, words: (at: string) => relativeTime(Date.parse(at), nowMs) } : column,
  );
  printRows(cli, dead, columns as typeof UNDELIVERED_COLUMNS);
}

async function replay(
  cli: CliContext,
  context: Context,
  input: { notification_ids: string[]; all: boolean },
): Promise<void> {
  const { document: report } = await replayMessages.run(scopeOf(context), input);
  const due = counted(report.replayed.length, 'notification is due again', 'notifications are due again');
  const dropped = counted(report.dropped.length, 'message');
  const retried = counted(report.retried, 'alert', 'alerts');
  cli.printResult(report, [
    `${due}; the running daemon sends due notifications`,
    report.retried === 0 ? null : `  ${retried} rejected by a channel no longer wait for a retry`,
    report.dropped.length === 0 ? null : `  ${dropped} dropped: the alert ended, or was notified since`,
    ...report.enabled.map((name) => `  channel ${inertText(name)} enabled again`),
    ...report.without_channel.map(
      ({ notification_id, channel }) =>
        `  ${notification_id} stays dead: channel ${inertText(channel)} is not configured`,
    ),
  ]);
}

function feedbackCommand(cli: CliContext): CliCommand {
  return reportingCommand('feedback')
    .description('Label an alert as real, expected (known before) or false. The last label counts.')
    .argument('<id>', 'an alert, or a message (msg_...) with several')
    .addArgument(new Argument('<label>', 'the label').choices(FEEDBACK_LABELS))
    .option('--note <text>', 'a note')
    .option(...BY_OPTION)
    .examples(
      'usage-ledger alerts feedback alert_64740e88a27593a234fc real',
      'usage-ledger alerts feedback alert_64740e88a27593a234fc expected --note "launch of their shop"',
    )
    .action((id: string, label: FeedbackLabel, options: { note?: string; by?: string }) =>
      cli.withContext(async (context) => {
        const input = { alert_id: id, label, note: options.note };
        const { document } = await labelAlert.run(scopeOf(context, options), input);
        const by = inertText(document.by);
        if ('alerts' in document) {
          const alerts = counted(document.alerts.length, 'alert');
          cli.printResult(document, [`${alerts} in ${inertText(id)} labelled ${label} by ${by}`]);
          return;
        }
        const { setting, would_have_muted: mute } = document;
        const quiet = setting === null ? '' : indented(setting);
        cli.printResult(document, [
          `${id} labelled ${label} by ${by}`,
          setting === null ? null : `  to prevent such alerts, add below \`alerts:\` of its workspace:\n${quiet}`,
          mute === null ? null : `  to mute it until then:\n  ${mute}`,
        ]);
      }),
    );
}

function indented(lines: string): string {
  return lines
    .split('\n')
    .map((line) => `    ${inertText(line)}`)
    .join('\n');
}

function* limitRows<Row>(rows: Iterable<Row>, limit: number | undefined): Generator<Row> {
  let left = limit ?? Number.POSITIVE_INFINITY;
  for (const row of rows) {
    yield row;
    left -= 1;
    if (left <= 0) return;
  }
}
