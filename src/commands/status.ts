import type { Command } from 'commander';
import { disabledChannels } from '../alerts/outbox/channel-states.ts';
import { summarizeError } from '../core/errors.ts';
import { createLogger } from '../core/logger.ts';
import { inertText } from '../core/text/inert-text.ts';
import { ledgerId } from '../ledger/schema/identity.ts';
import { openQueueSystem, type QueueCounts } from '../queue/queues.ts';
import { describeTarget } from '../queue/redis/connection.ts';
import { formatInteger, relativeTime } from '../reports/formats/format.ts';
import { renderTable, type TableColumn } from '../reports/formats/table.ts';
import { outboxCounts, type WorkspaceStatus, workspaceStatuses } from '../reports/queries/status.ts';
import type { Context } from '../wiring/context.ts';
import { type CliContext, examples, reportingCommand } from './shared/cli-context.ts';
import { findRedis, probeRedis } from './shared/redis-probe.ts';

type WorkspaceLine = WorkspaceStatus & { configured: boolean };

/** What is known of the queue without starting anything. */
type QueueStatus =
  | { status: 'not_running' }
  | { status: 'unavailable'; redis: string; reason: string }
  | { status: 'running'; redis: string; sync: QueueCounts; deliver: QueueCounts };

export function statusCommand(cli: CliContext): Command {
  return reportingCommand('status')
    .addHelpText('after', examples('usage-ledger status', 'usage-ledger status --json'))
    .action(() => cli.withContext((context) => showStatus(cli, context)));
}

async function showStatus(cli: CliContext, context: Context): Promise<void> {
  const { connection } = context.reader();
  const { stored, outbox, disabled } = connection.transaction(() => ({
    stored: workspaceStatuses(connection),
    outbox: outboxCounts(connection),
    disabled: disabledChannels(connection),
  }))();
  const workspaces = withConfigured(context, stored);
  const openAlerts = workspaces.reduce((sum, workspace) => sum + workspace.open_alerts, 0);
  const id = ledgerId(connection);
  const queue = await queueStatus(context, id);
  if (cli.json) {
    const ledger = { path: context.config.ledger.path, ledger_id: id };
    const channels = disabled.map(({ name, disabledAt, reason }) => ({ name, disabled_at: disabledAt, reason }));
    cli.printJson({ ledger, workspaces, open_alerts: openAlerts, outbox, disabled_channels: channels, queue });
    return;
  }
  cli.print(renderTable(workspaces, columns(context.clock.now()), cli.tableOptions));
  for (const { workspace_id, last_run } of workspaces) {
    if (last_run === null || last_run.error_message === null) continue;
    cli.print(`${inertText(workspace_id)}: ${last_run.error_code}: ${inertText(last_run.error_message)}`);
  }
  cli.print('');
  cli.print(`alerts  ${formatInteger(openAlerts)} open`);
  const held = outbox.held === 0 ? '' : `, ${formatInteger(outbox.held)} waiting for a digest`;
  cli.print(`outbox  ${formatInteger(outbox.pending)} pending, ${formatInteger(outbox.dead)} dead${held}`);
  for (const { name, disabledAt, reason } of disabled) {
    cli.print(`channel ${inertText(name)} is disabled since ${disabledAt}: ${inertText(reason)}`);
  }
  cli.print(`queue   ${describeQueue(queue)}`);
}

/** The configured workspaces in their order, then those that the ledger knows from before. */
function withConfigured(context: Context, stored: WorkspaceStatus[]): WorkspaceLine[] {
  const byId = new Map(stored.map((status) => [status.workspace_id, status]));
  const configured = context.config.workspaces.map(({ id }): WorkspaceLine => {
    const status = byId.get(id) ?? { ...NEVER_SYNCED, workspace_id: id };
    byId.delete(id);
    return { ...status, configured: true };
  });
  return [...configured, ...[...byId.values()].map((status) => ({ ...status, configured: false }))];
}

const NEVER_SYNCED = {
  last_complete_run_at: null,
  last_attempt_at: null,
  last_status: null,
  covers_from: null,
  covers_to: null,
  last_run: null,
  open_alerts: 0,
} as const;

async function queueStatus(context: Context, id: string): Promise<QueueStatus> {
  const target = await findRedis(context.config);
  if (target === null) return { status: 'not_running' };
  const redis = describeTarget(target);
  try {
    await probeRedis(target);
    const idle = () => Promise.reject(new Error('this system takes no jobs'));
    const logger = createLogger({ level: 'silent' });
    const queue = await openQueueSystem({ ledgerId: id, target, logger, handlers: { sync: idle, deliver: idle } });
    try {
      return { status: 'running', redis, ...(await queue.counts()) };
    } finally {
      await queue.stop({ deadlineMs: 1000 });
    }
  } catch (error) {
    return { status: 'unavailable', redis, reason: summarizeError(error).message };
  }
}

function describeQueue(queue: QueueStatus): string {
  if (queue.status === 'not_running') return 'not running: the daemon starts it';
  if (queue.status === 'unavailable') return inertText(`${queue.redis} is not available: ${queue.reason}`);
  return `${inertText(queue.redis)}; sync ${describeCounts(queue.sync)}; deliver ${describeCounts(queue.deliver)}`;
}

function describeCounts({ waiting, active, delayed, failed }: QueueCounts): string {
  return `${waiting} waiting, ${active} active, ${delayed} delayed, ${failed} failed`;
}

function columns(nowMs: number): TableColumn<WorkspaceLine>[] {
  const ago = (at: string | null) => (at === null ? 'never' : relativeTime(Date.parse(at), nowMs));
  return [
    {
      key: 'workspace_id',
      header: 'Workspace',
      format: (id, row) => (row.configured ? id : `${id} (not configured)`),
    },
    { key: 'last_complete_run_at', header: 'Last complete', format: ago },
    { key: 'last_attempt_at', header: 'Last attempt', format: ago },
    {
      key: 'last_status',
      header: 'Last run',
      format: (status) => status ?? 'none',
      style: (status) => (status === 'applied' ? 'green' : status === 'running' ? undefined : 'yellow'),
    },
    {
      key: 'covers_from',
      header: 'Covers',
      format: (from, row) => (from === null ? '' : `${from} to ${row.covers_to}`),
    },
    { key: 'open_alerts', header: 'Open alerts' },
  ];
}
