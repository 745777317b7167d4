import { type DisabledChannel, disabledChannels } from '../../alerts/outbox/channel-states.ts';
import { type FailingChannel, failingChannels } from '../../alerts/outbox/failing-channels.ts';
import { type ShortHistory, shortHistories, shortHistoryWords } from '../../alerts/queries/short-history.ts';
import { summarizeError } from '../../core/errors.ts';
import { createLogger } from '../../core/logger.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { firstOf } from '../../core/text/words.ts';
import { createSlotHistory } from '../../daemon/schedules.ts';
import { isStillQueued, syncFactsReader } from '../../daemon/state/staleness.ts';
import {
  type OutboxCounts,
  openAlertsOfLedger,
  outboxCounts,
  sortWorstFirst,
  type WorkspaceLine,
  type WorkspaceState,
  workspaceLines,
  workspaceStatuses,
} from '../../daemon/state/status.ts';
import { describeSkipped, type SkippedMonth, skippedMonths } from '../../ledger/journal/close/closes-in-force.ts';
import { describeAhead, type TimesAhead, timesAhead } from '../../ledger/journal/times-ahead.ts';
import { type ConfigurationStatus, findRunningDaemon } from '../../ledger/store/file/daemon-lock.ts';
import { lockHolder } from '../../ledger/store/file/write-lock.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { describeOutlet, describeProblems, type OutletStatus, outletStatuses } from '../../outlets/outlet-status.ts';
import type { CopyStatus } from '../../publish/copy-status.ts';
import { describeTarget } from '../../queue/redis/target.ts';
import type { QueueCounts } from '../../queue/sync-queue.ts';
import { type ExportStatus, readExportStatus } from '../../reports/files/export-folder.ts';
import {
  type CellStyle,
  formatInteger,
  relativeTime,
  type TableColumn,
  timeAgo,
} from '../../reports/formats/columns.ts';
import { renderTable, type TableOptions } from '../../reports/formats/table.ts';
import type { Context } from '../../wiring/context.ts';
import { requireKnownWorkspace } from '../shared/choose-workspace.ts';
import { type CliCommand, type CliContext, proseLines, reportingCommand } from '../shared/cli-context.ts';
import { LIMIT_OPTION } from '../shared/options.ts';
import { findRedis, probeRedisOnce } from '../shared/redis-probe.ts';

interface StatusOptions {
  workspace?: string;
  limit?: number;
}

/** How long a writer may hold the ledger before `status` reports it as locked. Applying a run takes less. */
const STATUS_LOCK_WAIT_MS = 2000;

export function statusCommand(cli: CliContext): CliCommand {
  return reportingCommand('status')
    .option('--workspace <id>', 'only this workspace')
    .option(...LIMIT_OPTION)
    .examples('usage-ledger status', 'usage-ledger status --json')
    .action((options: StatusOptions) =>
      cli.withContext((context) => {
        requireKnownWorkspace(context, options.workspace);
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
  const { workspaces, openAlerts, outbox, disabled, queue, exports, publish, outlets, ahead, skipped, short } = report;
  const ledger = {
    path: context.config.ledger.path,
    ledger_id: ledgerId(context.reader().connection),
    locked_by: report.lockedBy,
  };
  const { configuration } = report;
  cli.printJson({
    ledger,
    configuration: configuration && {
      read_at: configuration.readAt,
      refused: configuration.refused,
      needs_restart: configuration.needsRestart,
    },
    workspaces: workspaces.slice(0, options.limit),
    open_alerts: openAlerts,
    outbox,
    disabled_channels: disabled.map(({ name, disabledAt, reason }) => ({ name, disabled_at: disabledAt, reason })),
    failing_channels: report.failing.map(({ name, reason, nextAttemptAt }) => ({
      name,
      reason,
      next_attempt_at: nextAttemptAt,
    })),
    queue,
    times_ahead: ahead && { count: ahead.count, latest_at: ahead.latestAt },
    not_closed: skipped.map(({ workspaceId, period }) => ({ workspace_id: workspaceId, period })),
    no_jumps_before: short.map(({ workspaceId, from }) => ({ workspace_id: workspaceId, period: from })),
    exports: exports.map(({ name, writtenAt, failing }) => ({ name, last_file_at: writtenAt, failing })),
    outlets: outlets.map(({ name, state, waiting, events, trouble }) => ({
      name,
      state,
      waiting,
      held: events.held.events,
      late: events.late.events,
      refused: events.refused.events,
      trouble,
    })),
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
  const names = context.config.alerts.channels.map(({ name }) => name);
  const { stored, outbox, disabled, failing } = connection.transaction(() => ({
    stored: workspaceStatuses(connection),
    outbox: outboxCounts(connection),
    disabled: disabledChannels(connection),
    failing: failingChannels(connection, names),
  }))();
  const queue = await readQueue(context, ledgerId(connection));
  const nowMs = context.clock.now();
  const sources = {
    factsOf: syncFactsReader(connection),
    historyOf: createSlotHistory(connection, context.clock, 0),
    waitingSince(id: string, lastAttemptAtMs: number | null) {
      const sinceMs = queue.waitingSince.get(id);
      return sinceMs !== undefined && isStillQueued(sinceMs, lastAttemptAtMs, nowMs) ? sinceMs : null;
    },
  };
  const workspaces = workspaceLines(context.config, stored, sources, nowMs).filter(
    ({ workspace_id }) => workspaceId === undefined || workspace_id === workspaceId,
  );
  const exports = context.config.exports.map(readExportStatus);
  const ledgerAlerts = workspaceId === undefined ? openAlertsOfLedger(connection) : 0;
  const openAlerts = workspaces.reduce((sum, workspace) => sum + workspace.open_alerts, ledgerAlerts);
  return {
    workspaces,
    openAlerts,
    outbox,
    disabled,
    failing,
    queue: queue.status,
    exports,
    configuration: findRunningDaemon(context.config.ledger.path)?.configuration ?? null,
    lockedBy: lockHolder(context.config.ledger.path, STATUS_LOCK_WAIT_MS),
    ahead: timesAhead(connection, nowMs),
    skipped: skippedMonths(connection).filter(
      (month) => workspaceId === undefined || month.workspaceId === workspaceId,
    ),
    short: shortHistories(connection, nowMs).filter(({ workspaceId: id }) =>
      workspaces.some(({ workspace_id, configured }) => configured && workspace_id === id),
    ),
    publish: await readPublishStatus(context),
    outlets: outletStatuses(connection, context.config.outlets).map((standing) => ({
      ...standing,
      trouble: describeProblems(standing, false),
    })),
  };
}

async function readPublishStatus(context: Context): Promise<StatusReport['publish']> {
  const { publish } = context.config;
  if (publish === null) return null;
  const { describeCopyStatus, readCopyStatus } = await import('../../publish/copy-status.ts');
  const standing = await readCopyStatus(publish, context.reader().connection, context.clock.now());
  return { standing, words: describeCopyStatus(standing) };
}

export interface StatusReport {
  workspaces: WorkspaceLine[];
  openAlerts: number;
  outbox: OutboxCounts;
  disabled: DisabledChannel[];
  failing: FailingChannel[];
  queue: QueueStatus;
  exports: ExportStatus[];
  /** The configuration that the running daemon uses; null when no daemon runs. */
  configuration: ConfigurationStatus | null;
  /** The process that holds the ledger's write lock, such as `process 4711 (sqlite3)`; null when nothing holds it. */
  lockedBy: string | null;
  ahead: TimesAhead | null;
  skipped: SkippedMonth[];
  short: ShortHistory[];
  /** The copy in Postgres; null when none is configured. */
  publish: { standing: CopyStatus; words: string } | null;
  outlets: (OutletStatus & { trouble: string | null })[];
}

interface ScreenOptions extends TableOptions {
  nowMs: number;
  limit: number;
}

const STATE_LABELS: Readonly<Record<WorkspaceState, { label: string; style: CellStyle }>> = {
  stale: { label: 'STALE', style: 'red' },
  failed: { label: 'FAILED', style: 'red' },
  never: { label: 'never', style: 'yellow' },
  fresh: { label: 'ok', style: 'green' },
  ended: { label: 'ended', style: 'dim' },
  not_configured: { label: 'removed', style: 'dim' },
};

/** The full table is shown from this terminal width on. */
const MIN_FULL_TABLE_COLUMNS = 110;
const MAX_NAMED_WORKSPACES = 5;
/** Continuation lines of a fact are indented to its first word after the label. */
const FACT_INDENT = 8;

function configurationLines(notice: ConfigurationStatus | null): string[] {
  const { refused, readAt, needsRestart } = notice ?? { refused: null, readAt: '', needsRestart: [] };
  const lines = (refused?.faults ?? []).map(
    ({ path, message }) =>
      `config  rejected; using the one read at ${readAt}: ${inertText(path)} ${inertText(message)}`,
  );
  return needsRestart.length === 0 ? lines : [...lines, `config  restart needed to apply: ${needsRestart.join(', ')}`];
}

export function statusLines(report: StatusReport, options: ScreenOptions): string[] {
  const { workspaces, openAlerts, outbox, disabled, queue, exports, publish, lockedBy, ahead, skipped, short } = report;
  const skippedMonths = describeSkipped(skipped);
  const sorted = sortWorstFirst(workspaces);
  const shown = sorted.slice(0, options.limit);
  const noJumpsYet = shortHistoryWords(
    short.filter(({ workspaceId }) => shown.some(({ workspace_id }) => workspace_id === workspaceId)),
  );
  const wide = isWide(options.width);
  const held = outbox.held === 0 ? '' : `, ${formatInteger(outbox.held)} for the daily summary`;
  const facts = [
    ...(lockedBy === null
      ? []
      : [`ledger  locked by ${inertText(lockedBy)}: no run can be applied until the lock is released`]),
    ...configurationLines(report.configuration),
    ...(ahead === null ? [] : [`clock   ${describeAhead(ahead, options.nowMs)}`]),
    `alerts  ${formatInteger(openAlerts)} open`,
    `unsent  ${formatInteger(outbox.pending)} waiting, ${formatInteger(outbox.dead)} given up${held}`,
    ...disabled.map(
      ({ name, disabledAt, reason }) => `channel ${inertText(name)} disabled since ${disabledAt}: ${inertText(reason)}`,
    ),
    ...report.failing.map((channel) => failingWords(channel, options.nowMs)),
    `queue   ${describeQueue(queue)}`,
    ...exportFacts(exports, options.nowMs),
    ...(publish === null ? [] : [`publish ${inertText(publish.words)}`]),
    ...report.outlets.map((standing) => `outlet  ${standing.name}: ${inertText(describeOutlet(standing))}`),
    ...(skippedMonths === null ? [] : [`closes  ${inertText(skippedMonths)}`]),
    ...(noJumpsYet === null ? [] : [`jumps   ${inertText(noJumpsYet)}`]),
  ];
  return [
    ...(workspaces.length > 1 ? [headline(workspaces), ''] : []),
    ...renderTable(shown, columns(sorted, options.nowMs, wide), options).split('\n'),
    ...(shown.length < sorted.length ? [remainder(sorted.slice(shown.length))] : []),
    ...failureLines(shown, report, options).flatMap((text) => proseLines(text, options.width)),
    '',
    ...facts.flatMap((text) => proseLines(text, options.width, FACT_INDENT)),
  ];
}

/** Describes a channel whose last attempt failed, with the time of the next attempt. */
function failingWords({ name, reason, nextAttemptAt }: FailingChannel, nowMs: number): string {
  const nextMs = nextAttemptAt === null ? null : Date.parse(nextAttemptAt);
  const when = nextMs !== null && nextMs > nowMs ? relativeTime(nextMs, nowMs) : 'now';
  const again = nextMs === null ? '' : ` (next attempt ${when})`;
  return `channel ${inertText(name)} fails: ${inertText(reason)}${again}`;
}

/** Returns one line when all exports work, else one line for each that fails. */
function exportFacts(exports: StatusReport['exports'], nowMs: number): string[] {
  if (exports.length === 0) return [];
  const failing = exports.flatMap(({ name, failing: why }) => (why === null ? [] : [{ name, ...why }]));
  if (failing.length > 0) {
    return failing.map(({ name, since, reason }) => {
      return `exports ${name} failing${since === null ? '' : ` since ${since}`}: ${inertText(reason)}`;
    });
  }
  const last = exports.reduce((latest, { writtenAt }) => ((writtenAt ?? '') > latest ? (writtenAt ?? '') : latest), '');
  const when = last === '' ? 'no file yet' : `last file ${timeAgo(last, nowMs)}`;
  return [`exports ${formatInteger(exports.length)}, ${when}`];
}

function headline(workspaces: readonly WorkspaceLine[]): string {
  const active = workspaces.filter(({ configured, state }) => configured && state !== 'ended');
  const fresh = active.filter(({ state }) => state === 'fresh').length;
  return `${formatInteger(fresh)} of ${formatInteger(active.length)} workspaces are fresh`;
}

function remainder(hidden: readonly WorkspaceLine[]): string {
  const suffix = hidden.every(({ state }) => state === 'fresh') ? ', all fresh' : '';
  return `and ${formatInteger(hidden.length)} more${suffix}`;
}

/** Lists each failure reason once, with the workspaces that it affects and the time of the next attempt. */
function failureLines(
  shown: readonly WorkspaceLine[],
  { queue }: StatusReport,
  { nowMs, width }: ScreenOptions,
): string[] {
  const wide = isWide(width);
  const failed = shown.filter(({ last_run }) => last_run !== null && last_run.error_message !== null);
  const reasonOf = ({ last_run }: WorkspaceLine) => `${last_run?.error_code}: ${last_run?.error_message}`;
  return [...Map.groupBy(failed, reasonOf)].map(([reason, lines]) => {
    const labels = lines.map((line) => inertText(wide ? line.workspace_id : line.name));
    const next = lines.flatMap(({ next_attempt_at }) => next_attempt_at ?? []).sort()[0];
    const nextMs = next === undefined || queue.status !== 'running' ? null : Date.parse(next);
    const when = nextMs === null || nextMs <= nowMs ? 'now' : relativeTime(nextMs, nowMs);
    const nextAttempt = nextMs === null ? '' : ` (next attempt ${when})`;
    return `${firstOf(labels, MAX_NAMED_WORKSPACES)}: ${inertText(reason)}${nextAttempt}`;
  });
}

function isWide(width: number | undefined): boolean {
  return width === undefined || width >= MIN_FULL_TABLE_COLUMNS;
}

function columns(lines: readonly WorkspaceLine[], nowMs: number, wide: boolean): TableColumn<WorkspaceLine>[] {
  const ago = (at: string | null) => timeAgo(at, nowMs);
  const named = lines.some(({ name, workspace_id }) => name !== workspace_id);
  const covers: TableColumn<WorkspaceLine> = {
    name: 'covers_from',
    header: 'Covers',
    words: (from, row) => (from === null ? '' : `${from} to ${row.covers_to}`),
  };
  return [
    {
      name: 'state',
      header: '',
      words: (state) => STATE_LABELS[state].label,
      style: (state) => STATE_LABELS[state].style,
    },
    ...(wide || !named ? [{ name: 'workspace_id', header: 'Workspace', kind: 'id' } as const] : []),
    ...(named ? [{ name: 'name', header: wide ? 'Name' : 'Workspace' } as const] : []),
    { name: 'last_complete_run_at', header: 'Complete', words: ago },
    {
      name: 'last_status',
      header: 'Last run',
      words: (status, row) => (status === null ? 'none' : `${status} ${ago(row.last_attempt_at)}`),
      style: (status) => (status === 'failed' ? 'yellow' : undefined),
    },
    ...(wide ? [covers] : []),
    { name: 'open_alerts', header: 'Alerts' },
  ];
}

type QueueStatus =
  | { status: 'not_running' }
  | { status: 'unavailable'; redis: string; reason: string }
  | { status: 'running'; redis: string; sync: QueueCounts };

/** The status of this ledger's queue, and for each workspace with a waiting sync job the time since when it waits. */
interface QueueReading {
  status: QueueStatus;
  waitingSince: ReadonlyMap<string, number>;
}

async function readQueue(context: Context, id: string): Promise<QueueReading> {
  const noneWaiting = new Map<string, number>();
  let redis = 'its private Redis';
  try {
    const target = await findRedis(context.config);
    if (target === null) return { status: { status: 'not_running' }, waitingSince: noneWaiting };
    redis = describeTarget(target);
    const { fault } = await probeRedisOnce(target, id);
    if (fault !== null) {
      const reason = `${fault.reason}; ${fault.hint}`;
      return { status: { status: 'unavailable', redis, reason }, waitingSince: noneWaiting };
    }
    const { openBullmqQueue } = await import('../../queue/bullmq-queue.ts');
    const logger = createLogger({ level: 'silent' });
    const queue = await openBullmqQueue({ ledgerId: id, target, logger });
    try {
      const waitingSince = await queue.waitingSyncs();
      return { status: { status: 'running', redis, sync: await queue.counts() }, waitingSince };
    } finally {
      await queue.stop({ deadlineMs: 1000 });
    }
  } catch (error) {
    const { message: reason } = summarizeError(error);
    return { status: { status: 'unavailable', redis, reason }, waitingSince: noneWaiting };
  }
}

function describeQueue(queue: QueueStatus): string {
  if (queue.status === 'not_running') return 'not running; the daemon starts it';
  if (queue.status === 'unavailable') return inertText(`${queue.redis} is unavailable: ${queue.reason}`);
  return `${inertText(queue.redis)}; sync ${describeCounts(queue.sync)}`;
}

function describeCounts({ waiting, active, delayed, failed }: QueueCounts): string {
  return `${waiting} waiting, ${active} active${delayed > 0 ? `, ${delayed} delayed` : ''}, ${failed} failed`;
}
