import { Option } from 'commander';
import type { RuleName, Severity } from '../../alerts/measures/judgement.ts';
import { type AlertFilters, alertRows, type ListedAlert } from '../../alerts/queries/alerts.ts';
import { rulesWith } from '../../alerts/wording/kinds/table.ts';
import { parsePeriod } from '../../core/period.ts';
import { ALERT_STATES, type AlertState, fullName, RULES, SEVERITIES } from '../../core/text/alert-words.ts';
import { formatDecimal, type TableColumn } from '../../reports/formats/columns.ts';
import { renderTable, type TableOptions } from '../../reports/formats/table.ts';
import type { Context } from '../../wiring/context.ts';
import { noteNearTenants } from '../finance/unknown-tenant.ts';
import { requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { CliCommand, type CliContext, reportingCommand } from '../shared/cli-context.ts';
import { firstRows, LIMIT_OPTION } from '../shared/options.ts';
import { ackCommand, explainCommand, showCommand } from './alert-record.ts';
import { backtestCommand } from './backtest.ts';
import { replayCommand, testCommand } from './deliveries.ts';
import { feedbackCommand } from './feedback.ts';
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
    .addCommand(listCommand(cli), { isDefault: true })
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

function listCommand(cli: CliContext): CliCommand {
  return reportingCommand('list')
    .description('List alerts by severity and size; only open ones unless told otherwise.')
    .addOption(new Option('--state <state>', 'only alerts in this state').choices(ALERT_STATES))
    .addOption(new Option('--all', 'alerts in any state').conflicts('state'))
    .addOption(new Option('--pending', 'also those that wait to be confirmed').conflicts(['state', 'all']))
    .option('--workspace <id>', 'only this workspace')
    .option('--tenant <id>', 'only this tenant')
    .option('--period <period>', 'only this period, YYYY-MM')
    .addOption(new Option('--rule <rule>', 'only this rule').choices(RULES))
    .addOption(new Option('--severity <severity>', 'only this severity').choices(SEVERITIES))
    .option(...LIMIT_OPTION)
    .examples(
      'usage-ledger alerts list --pending',
      'usage-ledger alerts list --state resolved --workspace ws-123',
      'usage-ledger alerts list --rule jump --severity critical --limit 10',
      'usage-ledger alerts list --all --json',
    )
    .action((options: ListOptions) => cli.withContext((context) => listAlerts(cli, context, options)));
}

function listAlerts(cli: CliContext, context: Context, options: ListOptions): void {
  requireKnownWorkspace(context, options.workspace);
  const states = listedStates(options);
  const { workspace, tenant, rule, severity } = options;
  const period = options.period === undefined ? undefined : parsePeriod(options.period, '--period');
  const filters = { states, workspaceId: workspace, tenantId: tenant, period, rule, severity };
  const fitting = alertRows(context.reader().connection, filters);
  const narrowed = [tenant, period, rule, severity].some((filter) => filter !== undefined);
  if (fitting.length === 0) {
    cli.note(states === 'open' && !narrowed ? 'no alert is open' : 'no alert fits');
    noteNearTenants(cli, context.reader().connection, { tenantId: tenant, workspaceId: workspace });
  }
  const alerts = firstRows(cli, fitting, options.limit);
  const asked = { tenant_id: tenant ?? null, period: period ?? null, rule: rule ?? null, severity: severity ?? null };
  if (cli.json) cli.printJson({ filters: { states, workspace_id: workspace ?? null, ...asked }, alerts });
  else if (alerts.length > 0)
    cli.print(renderTable(alerts, tableColumns(alerts, cli.tableOptions), { ...cli.tableOptions, clip: true }));
}

function listedStates({ all, state, pending }: ListOptions): AlertFilters['states'] {
  if (all === true) return 'all';
  if (state !== undefined) return [state];
  return pending === true ? 'open or pending' : 'open';
}

function isMuted({ muted_because }: ListedAlert): boolean {
  return /^(silence|inhibited):/.test(muted_because ?? '');
}

const SHORT_STATES: Partial<Record<AlertState, string>> = {
  pending: 'wait',
  acknowledged: 'ack',
  resolved: 'ok',
  expired: 'past',
};

/** What somebody said that it is; how urgent it is while it holds; what has become of it else. */
function markOf(alert: ListedAlert): string {
  if (alert.feedback !== null) return alert.feedback === 'expected' ? 'known' : alert.feedback;
  return SHORT_STATES[alert.state] ?? (isMuted(alert) ? 'muted' : alert.severity === 'critical' ? 'CRIT' : 'warn');
}

/** With fewer columns of the terminal the money at stake is left out. */
const ROOM_FOR_MONEY = 100;

/** What people call a tenant comes first, because the end is what a narrow terminal cuts. */
function tenantWords({ tenant_id, tenant_name }: ListedAlert): string {
  return tenant_name === null ? (tenant_id ?? '') : `${tenant_name} (${tenant_id})`;
}

function moneyWords(money: ListedAlert['at_stake_money']): string {
  return money === null ? '' : `${formatDecimal(money.amount)} ${money.currency}`;
}

/** One line an alert on 80 columns: the id is never cut, since it is what is typed next. */
function tableColumns(alerts: readonly ListedAlert[], { width = ROOM_FOR_MONEY }: TableOptions) {
  const isPriced = width >= ROOM_FOR_MONEY && alerts.some(({ at_stake_money }) => at_stake_money !== null);
  const several = new Set(alerts.map(({ workspace_id }) => workspace_id)).size > 1;
  const columns: TableColumn<ListedAlert>[] = [
    {
      name: 'severity',
      header: '',
      align: 'right',
      words: (_, row) => markOf(row),
      style: (severity, { state }) => (state !== 'firing' ? 'dim' : severity === 'critical' ? 'red' : 'yellow'),
    },
    {
      name: 'rule',
      header: 'Rule',
      firm: true,
      words: (rule, row) => (STAGED.includes(rule) ? `${rule} ${row.level}` : fullName(rule, row.cause)),
    },
    ...(several ? [{ name: 'workspace_id' as const, header: 'Workspace', kind: 'id' as const }] : []),
    { name: 'tenant_id', header: 'Tenant', words: (_, row) => tenantWords(row) },
    { name: 'period', header: 'Period', align: 'right', words: (period) => period ?? '' },
    { name: 'at_stake_credits', header: 'Difference', align: 'right' },
    ...(isPriced
      ? [{ name: 'at_stake_money' as const, header: 'Cost', align: 'right' as const, words: moneyWords }]
      : []),
    { name: 'alert_id', header: 'Alert', align: 'right' },
  ];
  return columns;
}

const STAGED: readonly string[] = rulesWith(({ hasLevels }) => hasLevels === true);
