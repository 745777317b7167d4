import { disabledChannels } from '../../alerts/notify/channel-states.ts';
import { isoTime, sleep } from '../../core/clock.ts';
import { UsageError } from '../../core/errors.ts';
import { createSlotHistory } from '../../daemon/schedules.ts';
import { stillWaits, syncFactsReader } from '../../daemon/state/staleness.ts';
import { openAlertsOfLedger, outboxCounts, workspaceLines, workspaceStatuses } from '../../daemon/state/status.ts';
import { skippedMonths } from '../../ledger/journal/close/closes-in-force.ts';
import { timesAhead } from '../../ledger/journal/times-ahead.ts';
import { lockHolder } from '../../ledger/store/file/write-lock.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { exportStanding } from '../../reports/files/export-folder.ts';
import type { Context } from '../../wiring/context.ts';
import { requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { type CliCommand, type CliContext, reportingCommand, StoppedError } from '../shared/cli-context.ts';
import { LIMIT_OPTION, parseWholeNumber } from '../shared/options.ts';
import { withStopSignal } from '../shared/stop-signal.ts';
import { lookAtQueue, type StatusReport, statusLines } from './status-screen.ts';

interface StatusOptions {
  workspace?: string;
  limit?: number;
  /** Seconds between two looks; true for the default. */
  watch?: number | true;
}

/** Longer than it takes to apply a run. */
const PATIENCE_MS = 2000;
const WATCH_SECONDS = 5;
/** Lines of the screen that are not workspaces. */
const LINES_AROUND = 12;
const DEFAULT_ROWS = 24;

export function statusCommand(cli: CliContext): CliCommand {
  return reportingCommand('status')
    .option('--workspace <id>', 'only this workspace')
    .option(...LIMIT_OPTION)
    .option('--watch [seconds]', `show it again and again until Ctrl-C (default: every ${WATCH_SECONDS} s)`, (text) =>
      parseWholeNumber(text, '--watch', 1, 3600),
    )
    .examples('usage-ledger status', 'usage-ledger status --watch', 'usage-ledger status --json')
    .action((options: StatusOptions) =>
      cli.withContext((context) => {
        requireKnownWorkspace(context, options.workspace);
        if (options.watch !== undefined) return watchStatus(cli, context, options);
        return showStatus(cli, context, options);
      }),
    );
}

async function showStatus(cli: CliContext, context: Context, options: StatusOptions): Promise<void> {
  const report = await readStatus(context, options.workspace);
  if (!cli.json) {
    const limit = options.limit ?? Number.POSITIVE_INFINITY;
    cli.print(statusLines(report, { ...cli.tableOptions, nowMs: context.clock.now(), limit }).join('\n'));
    return;
  }
  const { workspaces, openAlerts, outbox, disabled, queue, exports, publish, ahead, skipped } = report;
  const ledger = {
    path: context.config.ledger.path,
    ledger_id: ledgerId(context.reader().connection),
    locked_by: report.lockedBy,
  };
  cli.printJson({
    ledger,
    workspaces: workspaces.slice(0, options.limit),
    open_alerts: openAlerts,
    outbox,
    disabled_channels: disabled.map(({ name, disabledAt, reason }) => ({ name, disabled_at: disabledAt, reason })),
    queue,
    times_ahead: ahead && { count: ahead.count, latest_at: ahead.latestAt },
    not_closed: skipped.map(({ workspaceId, period }) => ({ workspace_id: workspaceId, period })),
    exports: exports.map(({ name, writtenAt, failing }) => ({ name, last_file_at: writtenAt, failing })),
    publish: publish && {
      position: publish.standing.position,
      lag_links: publish.standing.lag.links,
      lag_seconds: publish.standing.lag.seconds,
      fault: publish.standing.fault && { code: publish.standing.fault.code, message: publish.standing.fault.message },
    },
  });
}

async function readStatus(context: Context, workspaceId: string | undefined): Promise<StatusReport> {
  const { connection } = context.reader();
  const { stored, outbox, disabled } = connection.transaction(() => ({
    stored: workspaceStatuses(connection),
    outbox: outboxCounts(connection),
    disabled: disabledChannels(connection),
  }))();
  const queue = await lookAtQueue(context, ledgerId(connection));
  const nowMs = context.clock.now();
  const sources = {
    factsOf: syncFactsReader(connection),
    historyOf: createSlotHistory(connection, context.clock, 0),
    waitingSince(id: string, lastAttemptAtMs: number | null) {
      const sinceMs = queue.waitingSince.get(id);
      return sinceMs !== undefined && stillWaits(sinceMs, lastAttemptAtMs, nowMs) ? sinceMs : null;
    },
  };
  const workspaces = workspaceLines(context.config, stored, sources, nowMs).filter(
    ({ workspace_id }) => workspaceId === undefined || workspace_id === workspaceId,
  );
  const exports = context.config.exports.map(exportStanding);
  const ofLedger = workspaceId === undefined ? openAlertsOfLedger(connection) : 0;
  const openAlerts = workspaces.reduce((sum, workspace) => sum + workspace.open_alerts, ofLedger);
  return {
    workspaces,
    openAlerts,
    outbox,
    disabled,
    queue: queue.status,
    exports,
    lockedBy: lockHolder(context.config.ledger.path, PATIENCE_MS),
    ahead: timesAhead(connection, nowMs),
    skipped: skippedMonths(connection).filter(
      (month) => workspaceId === undefined || month.workspaceId === workspaceId,
    ),
    publish: await lookAtCopy(context),
  };
}

async function lookAtCopy(context: Context): Promise<StatusReport['publish']> {
  const { publish } = context.config;
  if (publish === null) return null;
  const { describeStanding, standingOf } = await import('../../publish/standing.ts');
  const standing = await standingOf(publish, context.reader().connection, context.clock.now());
  return { standing, words: describeStanding(standing) };
}

/** Draws the screen anew, without the flicker of clearing it first, until Ctrl-C. */
async function watchStatus(cli: CliContext, context: Context, options: StatusOptions): Promise<void> {
  const { stdout } = cli.io;
  if (stdout.isTTY !== true || cli.json) {
    throw new UsageError(
      '--watch needs a terminal',
      'call `usage-ledger status` or `status --json` as often as needed',
    );
  }
  const seconds = typeof options.watch === 'number' ? options.watch : WATCH_SECONDS;
  const draw = (lines: readonly string[]): void => {
    const at = isoTime(context.clock.now()).slice(0, 19).replace('T', ' ');
    const screen = [`${at}Z, every ${seconds} s until Ctrl-C`, '', ...lines].map((line) => `${line}\x1b[K\n`).join('');
    cli.printDocument(`\x1b[H${screen}\x1b[J`);
  };
  const screenOptions = () => ({
    ...cli.tableOptions,
    nowMs: context.clock.now(),
    limit: options.limit ?? Math.max(1, (stdout.rows ?? DEFAULT_ROWS) - LINES_AROUND),
  });
  const again = (look: () => Promise<void>): Promise<void> =>
    withStopSignal(async (signal) => {
      for (;;) {
        await look();
        await sleep(context.clock, seconds * 1000, signal);
      }
    });
  cli.printDocument('\x1b[2J');
  try {
    await again(async () => draw(statusLines(await readStatus(context, options.workspace), screenOptions())));
  } catch (error) {
    if (!(error instanceof StoppedError)) throw error;
    cli.exitCode = error.exitCode;
  }
}
