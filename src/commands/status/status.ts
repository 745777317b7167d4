import type { FailingChannel } from '../../alerts/outbox/failing-channels.ts';
import { describeShortHistories } from '../../alerts/queries/short-history.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { firstOf } from '../../core/text/words.ts';
import { sortWorstFirst, type WorkspaceLine, type WorkspaceState } from '../../freshness/workspace-status.ts';
import { describeSkipped } from '../../ledger/journal/close/closes-in-force.ts';
import { describeTimesAhead } from '../../ledger/journal/times-ahead.ts';
import type { ConfigurationStatus } from '../../ledger/store/file/daemon-lock.ts';
import { statusDocument } from '../../operations/system/status-document.ts';
import { type QueueStatus, readStatusReport, type StatusReport } from '../../operations/system/status-report.ts';
import { describeOutletStatus } from '../../outlets/outlet-status.ts';
import type { QueueCounts } from '../../queue/sync-queue.ts';
import {
  type CellStyle,
  formatInteger,
  relativeTime,
  type TableColumn,
  timeAgo,
} from '../../reports/formats/columns.ts';
import { renderTable, type TableOptions } from '../../reports/formats/table.ts';
import type { Context } from '../../wiring/context.ts';
import { type CliCommand, type CliContext, proseLines, reportingCommand } from '../shared/cli-context.ts';
import { scopeOf } from '../shared/command-scope.ts';
import { LIMIT_OPTION } from '../shared/options.ts';

interface StatusOptions {
  workspace?: string;
  limit?: number;
}

export function statusCommand(cli: CliContext): CliCommand {
  return reportingCommand('status')
    .option('--workspace <id>', 'only this workspace')
    .option(...LIMIT_OPTION)
    .examples('usage-ledger status', 'usage-ledger status --json')
    .action((options: StatusOptions) => cli.withContext((context) => showStatus(cli, context, options)));
}

async function showStatus(cli: CliContext, context: Context, { workspace, limit }: StatusOptions): Promise<void> {
  const report = await readStatusReport(scopeOf(context), workspace);
  if (cli.json) {
    cli.printJson(statusDocument({ ...report, workspaces: report.workspaces.slice(0, limit) }));
    return;
  }
  const options = { ...cli.tableOptions, nowMs: context.clock.now(), limit: limit ?? Number.POSITIVE_INFINITY };
  cli.print(statusLines(report, options).join('\n'));
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

/** A terminal with at least this many columns gets the full table. */
const MIN_FULL_TABLE_COLUMNS = 110;
const MAX_NAMED_WORKSPACES = 5;
/** Continuation lines of a fact are indented, so that they start below the first word after its label. */
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
  const { workspaces, openAlerts, outbox, disabled, queue, exports, publish, ahead, skipped, short } = report;
  const lockedBy = report.ledger.locked_by;
  const skippedMonths = describeSkipped(skipped);
  const sorted = sortWorstFirst(workspaces);
  const shown = sorted.slice(0, options.limit);
  const noJumpsYet = describeShortHistories(
    short.filter(({ workspaceId }) => shown.some(({ workspace_id }) => workspace_id === workspaceId)),
  );
  const wide = isWide(options.width);
  const held = outbox.held === 0 ? '' : `, ${formatInteger(outbox.held)} for the daily summary`;
  const facts = [
    ...(lockedBy === null
      ? []
      : [`ledger  locked by ${inertText(lockedBy)}: no run can be applied until the lock is released`]),
    ...configurationLines(report.configuration),
    ...(ahead === null ? [] : [`clock   ${describeTimesAhead(ahead, options.nowMs)}`]),
    `alerts  ${formatInteger(openAlerts)} open`,
    `unsent  ${formatInteger(outbox.pending)} waiting, ${formatInteger(outbox.dead)} given up${held}`,
    ...disabled.map(
      ({ name, disabledAt, reason }) => `channel ${inertText(name)} disabled since ${disabledAt}: ${inertText(reason)}`,
    ),
    ...report.failing.map((channel) => failingWords(channel, options.nowMs)),
    `queue   ${describeQueue(queue)}`,
    ...exportFacts(exports, options.nowMs),
    ...(publish === null ? [] : [`publish ${inertText(publish.words)}`]),
    ...report.outlets.map((standing) => `outlet  ${standing.name}: ${inertText(describeOutletStatus(standing))}`),
    ...(skippedMonths === null ? [] : [`closes  ${inertText(skippedMonths)}`]),
    ...(noJumpsYet === null ? [] : [`jumps   ${inertText(noJumpsYet)}`]),
  ];
  return [
    ...(workspaces.length > 1 ? [headline(workspaces), ''] : []),
    ...renderTable(shown, columns(sorted, options.nowMs, wide), options).split('\n'),
    ...(shown.length < sorted.length ? [remainder(sorted.slice(shown.length))] : []),
    ...failureLines(shown, report, options).flatMap((text) => proseLines(text, options.width)),
    ...remedyLines(shown).flatMap((text) => proseLines(text, options.width)),
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

/** Returns the command that helps: `doctor` after a failed run, `sync` if complete runs are missing. */
function remedyLines(shown: readonly WorkspaceLine[]): string[] {
  if (shown.some(({ last_run }) => last_run !== null && last_run.error_message !== null)) {
    return ['Run `usage-ledger doctor` for the cause and its remedy.'];
  }
  const isMissing = shown.some(({ state }) => state === 'stale' || state === 'never');
  return isMissing ? ['Run `usage-ledger sync` to sync now, or start the daemon, which syncs on schedule.'] : [];
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
    { name: 'last_complete_run_at', header: 'Last complete', words: ago },
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

function describeQueue(queue: QueueStatus): string {
  if (queue.status === 'not_running') return 'not running; the daemon starts it';
  if (queue.status === 'unavailable') return inertText(`${queue.redis} is unavailable: ${queue.reason}`);
  return `${inertText(queue.redis)}; sync ${describeCounts(queue.sync)}`;
}

function describeCounts({ waiting, active, delayed, failed }: QueueCounts): string {
  return `${waiting} waiting, ${active} active${delayed > 0 ? `, ${delayed} delayed` : ''}, ${failed} failed`;
}
