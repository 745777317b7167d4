import type { DisabledChannel } from '../../alerts/notify/channel-states.ts';
import { summarizeError } from '../../core/errors.ts';
import { createLogger } from '../../core/logger.ts';
import { inertText } from '../../core/text/inert-text.ts';
import { firstOf } from '../../core/text/words.ts';
import { type OutboxCounts, type WorkspaceLine, type WorkspaceState, worstFirst } from '../../daemon/state/status.ts';
import { type SkippedMonth, skippedWords } from '../../ledger/journal/close/closes-in-force.ts';
import { describeAhead, type TimesAhead } from '../../ledger/journal/times-ahead.ts';
import type { CopyStanding } from '../../publish/standing.ts';
import { openBullmqQueue } from '../../queue/bullmq-queue.ts';
import { describeTarget } from '../../queue/redis/connection.ts';
import type { QueueCounts } from '../../queue/sync-queue.ts';
import type { ExportStanding } from '../../reports/files/export-folder.ts';
import {
  type CellStyle,
  formatInteger,
  relativeTime,
  type TableColumn,
  timeAgo,
} from '../../reports/formats/columns.ts';
import { renderTable, type TableOptions } from '../../reports/formats/table.ts';
import type { Context } from '../../wiring/context.ts';
import { proseLines } from '../shared/prose.ts';
import { findRedis, probeRedis } from '../shared/redis-probe.ts';

export interface StatusReport {
  workspaces: WorkspaceLine[];
  openAlerts: number;
  outbox: OutboxCounts;
  disabled: DisabledChannel[];
  queue: QueueStatus;
  exports: ExportStanding[];
  /** Who keeps the ledger from being written; null when nobody does. */
  lockedBy: string | null;
  ahead: TimesAhead | null;
  skipped: SkippedMonth[];
  /** The copy in Postgres; null: none is configured. */
  publish: { standing: CopyStanding; words: string } | null;
}

export interface ScreenOptions extends TableOptions {
  nowMs: number;
  limit: number;
}

const WORDS: Readonly<Record<WorkspaceState, { word: string; style: CellStyle }>> = {
  stale: { word: 'STALE', style: 'red' },
  failed: { word: 'FAILED', style: 'red' },
  never: { word: 'never', style: 'yellow' },
  fresh: { word: 'ok', style: 'green' },
  ended: { word: 'ended', style: 'dim' },
  not_configured: { word: 'gone', style: 'dim' },
};

/** A terminal of so many columns has room for ids beside names, and for what is covered. */
const WIDE = 110;
/** Of those that one reason stops, so many are named. */
const NAMED = 5;
/** What follows the first line of a fact stands below its first word. */
const INDENT = 8;

export function statusLines(report: StatusReport, options: ScreenOptions): string[] {
  const { workspaces, openAlerts, outbox, disabled, queue, exports, publish, lockedBy, ahead, skipped } = report;
  const skippedMonths = skippedWords(skipped);
  const sorted = worstFirst(workspaces);
  const shown = sorted.slice(0, options.limit);
  const wide = isWide(options.width);
  const held = outbox.held === 0 ? '' : `, ${formatInteger(outbox.held)} waiting for the daily summary`;
  const facts = [
    ...(lockedBy === null
      ? []
      : [`ledger  ${inertText(lockedBy)} keeps it locked: until that ends, no run can be applied`]),
    ...(ahead === null ? [] : [`clock   ${describeAhead(ahead, options.nowMs)}`]),
    `alerts  ${formatInteger(openAlerts)} open`,
    `outbox  ${formatInteger(outbox.pending)} pending, ${formatInteger(outbox.dead)} dead${held}`,
    ...disabled.map(
      ({ name, disabledAt, reason }) =>
        `channel ${inertText(name)} is disabled since ${disabledAt}: ${inertText(reason)}`,
    ),
    `queue   ${describeQueue(queue)}`,
    ...exportFacts(exports, options.nowMs),
    ...(publish === null ? [] : [`publish ${inertText(publish.words)}`]),
    ...(skippedMonths === null ? [] : [`closes  ${inertText(skippedMonths)}`]),
  ];
  return [
    ...(workspaces.length > 1 ? [headline(workspaces), ''] : []),
    ...renderTable(shown, columns(sorted, options.nowMs, wide), options).split('\n'),
    ...(shown.length < sorted.length ? [remainder(sorted.slice(shown.length))] : []),
    ...whyFailed(shown, report, options).flatMap((text) => proseLines(text, options.width)),
    '',
    ...facts.flatMap((text) => proseLines(text, options.width, INDENT)),
  ];
}

/** One line when all is well; otherwise one for each that fails. */
function exportFacts(exports: StatusReport['exports'], nowMs: number): string[] {
  if (exports.length === 0) return [];
  const failing = exports.flatMap(({ name, failing: why }) => (why === null ? [] : [{ name, ...why }]));
  if (failing.length > 0) {
    return failing.map(({ name, since, reason }) => {
      return `exports ${name} fails${since === null ? '' : ` since ${since}`}: ${inertText(reason)}`;
    });
  }
  const last = exports.reduce((latest, { writtenAt }) => ((writtenAt ?? '') > latest ? (writtenAt ?? '') : latest), '');
  const when = last === '' ? 'no file yet' : `last file ${timeAgo(last, nowMs)}`;
  return [`exports ${formatInteger(exports.length)}, ${when}`];
}

function headline(workspaces: readonly WorkspaceLine[]): string {
  const ours = workspaces.filter(({ configured, state }) => configured && state !== 'ended');
  const fresh = ours.filter(({ state }) => state === 'fresh').length;
  return `${formatInteger(fresh)} of ${formatInteger(ours.length)} workspaces are fresh`;
}

function remainder(left: readonly WorkspaceLine[]): string {
  const well = left.every(({ state }) => state === 'fresh') ? ', all of them fresh' : '';
  return `and ${formatInteger(left.length)} more${well}`;
}

/** Each reason once, with those that it stops, and when they are tried again. */
function whyFailed(
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
    const again = nextMs === null ? '' : ` (tried again ${when})`;
    return `${firstOf(labels, NAMED)}: ${inertText(reason)}${again}`;
  });
}

function isWide(width: number | undefined): boolean {
  return width === undefined || width >= WIDE;
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
    { name: 'state', header: '', words: (state) => WORDS[state].word, style: (state) => WORDS[state].style },
    ...(wide || !named ? [{ name: 'workspace_id', header: 'Workspace' } as const] : []),
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

/** What is known of the queue without starting anything. */
type QueueStatus =
  | { status: 'not_running' }
  | { status: 'unavailable'; redis: string; reason: string }
  | { status: 'running'; redis: string; sync: QueueCounts };

/** Of the queue of this ledger, and since when which workspace's sync job has waited for its place. */
interface QueueLook {
  status: QueueStatus;
  waitingSince: ReadonlyMap<string, number>;
}

export async function lookAtQueue(context: Context, id: string): Promise<QueueLook> {
  const nothingWaits = new Map<string, number>();
  const target = await findRedis(context.config);
  if (target === null) return { status: { status: 'not_running' }, waitingSince: nothingWaits };
  const redis = describeTarget(target);
  try {
    await probeRedis(target);
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
    return { status: { status: 'unavailable', redis, reason }, waitingSince: nothingWaits };
  }
}

function describeQueue(queue: QueueStatus): string {
  if (queue.status === 'not_running') return 'not running: the daemon starts it';
  if (queue.status === 'unavailable') return inertText(`${queue.redis} is not available: ${queue.reason}`);
  return `${inertText(queue.redis)}; sync ${describeCounts(queue.sync)}`;
}

function describeCounts({ waiting, active, delayed, failed }: QueueCounts): string {
  return `${waiting} waiting, ${active} active${delayed > 0 ? `, ${delayed} delayed` : ''}, ${failed} failed`;
}
