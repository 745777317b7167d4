import { Command, Option } from 'commander';
import { ALERT_STATES, type AlertState, OPEN_ALERT_STATES } from '../../core/alert-words.ts';
import { relativeTime } from '../../reports/formats/format.ts';
import { renderTable, type TableColumn } from '../../reports/formats/table.ts';
import { type AlertRow, alertRows } from '../../reports/queries/alerts.ts';
import type { Context } from '../../wiring/context.ts';
import { requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { type CliContext, examples, reportingCommand } from '../shared/cli-context.ts';
import { ackCommand, explainCommand, showCommand } from './alert-record.ts';
import { backtestCommand } from './backtest.ts';
import { replayCommand } from './replay.ts';
import { planCommand, silenceCommand, silencesCommand, unsilenceCommand } from './silences.ts';
import { testCommand } from './test.ts';

interface ListOptions {
  state?: AlertState;
  all?: boolean;
  workspace?: string;
}

export function alertsCommand(cli: CliContext): Command {
  return new Command('alerts')
    .addCommand(listCommand(cli), { isDefault: true })
    .addCommand(showCommand(cli))
    .addCommand(explainCommand(cli))
    .addCommand(ackCommand(cli))
    .addCommand(silenceCommand(cli))
    .addCommand(planCommand(cli))
    .addCommand(silencesCommand(cli))
    .addCommand(unsilenceCommand(cli))
    .addCommand(testCommand(cli))
    .addCommand(replayCommand(cli))
    .addCommand(backtestCommand(cli))
    .addHelpText(
      'after',
      examples('usage-ledger alerts', 'usage-ledger alerts list --all', 'usage-ledger alerts test on-call'),
    );
}

function listCommand(cli: CliContext): Command {
  return reportingCommand('list')
    .description('List alerts, the ones that changed last first; only open ones unless told otherwise.')
    .addOption(new Option('--state <state>', 'only alerts in this state').choices(ALERT_STATES))
    .addOption(new Option('--all', 'alerts in any state').conflicts('state'))
    .option('--workspace <id>', 'only this workspace')
    .addHelpText(
      'after',
      examples(
        'usage-ledger alerts list',
        'usage-ledger alerts list --state resolved --workspace ws-123',
        'usage-ledger alerts list --all --json',
      ),
    )
    .action((options: ListOptions) => cli.withContext((context) => listAlerts(cli, context, options)));
}

function listAlerts(cli: CliContext, context: Context, options: ListOptions): void {
  requireKnownWorkspace(context, options.workspace);
  const states = options.all === true ? null : options.state === undefined ? OPEN_ALERT_STATES : [options.state];
  const alerts = alertRows(context.reader().connection, { states, workspaceId: options.workspace });
  if (alerts.length === 0) cli.note(states === OPEN_ALERT_STATES ? 'no alert is open' : 'no alert fits');
  if (cli.json) cli.printJson({ filters: { states, workspace_id: options.workspace ?? null }, alerts });
  else cli.print(renderTable(alerts, tableColumns(context.clock.now()), cli.tableOptions));
}

/** Somebody, or an incident, or a fault of ours keeps it quiet. */
function isMuted({ muted_because }: AlertRow): boolean {
  return /^(silence|incident|inhibited):/.test(muted_because ?? '');
}

function tableColumns(nowMs: number): TableColumn<AlertRow>[] {
  return [
    { key: 'alert_id', header: 'Alert' },
    {
      key: 'severity',
      header: 'Severity',
      style: (severity) => (severity === 'critical' ? 'red' : 'yellow'),
    },
    { key: 'rule', header: 'Rule', format: (rule, row) => `${rule} ${row.stage}` },
    { key: 'workspace_id', header: 'Workspace' },
    { key: 'tenant_id', header: 'Tenant' },
    { key: 'period', header: 'Period' },
    { key: 'previous_credits', header: 'Previous', align: 'right' },
    { key: 'current_credits', header: 'Credits', align: 'right' },
    { key: 'threshold', header: 'Threshold', align: 'right' },
    { key: 'state', header: 'State', format: (state, row) => (isMuted(row) ? `${state}, muted` : String(state)) },
    { key: 'last_changed_at', header: 'Changed', format: (at) => relativeTime(Date.parse(at), nowMs) },
  ];
}
