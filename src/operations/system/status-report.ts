import { type DisabledChannel, findDisabledChannels } from '../../alerts/outbox/channel-states.ts';
import { type FailingChannel, findFailingChannels } from '../../alerts/outbox/failing-channels.ts';
import { findShortHistories, type ShortHistory } from '../../alerts/queries/short-history.ts';
import { summarizeError } from '../../core/errors.ts';
import { createLogger } from '../../core/logger.ts';
import { createSlotHistory } from '../../freshness/schedules.ts';
import { isStillQueued, readSyncFacts } from '../../freshness/staleness.ts';
import {
  countAlertsAboutLedger,
  countUndelivered,
  listWorkspacesToShow,
  type OutboxCounts,
  readWorkspaceStatuses,
  type WorkspaceLine,
} from '../../freshness/workspace-status.ts';
import { listSkippedMonths, type SkippedMonth } from '../../ledger/journal/close/closes-in-force.ts';
import { findTimesAhead, type TimesAhead } from '../../ledger/journal/times-ahead.ts';
import { type ConfigurationStatus, findRunningDaemon } from '../../ledger/store/file/daemon-lock.ts';
import { describeLockHolder } from '../../ledger/store/file/write-lock.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { describeOutletProblems, type OutletStatus, readOutletStatuses } from '../../outlets/outlet-status.ts';
import type { CopyStatus } from '../../publish/copy-status.ts';
import { describeTarget } from '../../queue/redis/target.ts';
import type { QueueCounts } from '../../queue/sync-queue.ts';
import { type ExportStatus, readExportStatus } from '../../reports/files/export-folder.ts';
import type { Context } from '../../wiring/context.ts';
import type { Scope } from '../operation.ts';
import { requireKnownWorkspace } from '../workspace-choice.ts';
import { findRedis, probeRedisOnce } from './find-redis.ts';

/**
 * If another process holds the ledger's write lock for longer than this, the status reports the ledger as locked.
 * Applying a run takes less time.
 */
const STATUS_LOCK_WAIT_MS = 2000;

/**
 * Reads the state of the ledger and of the daemon, and the state of the channels, exports, outlets and Postgres copy
 * that the daemon keeps up to date.
 */
export async function readStatusReport(scope: Scope, workspaceId: string | undefined): Promise<StatusReport> {
  requireKnownWorkspace(scope, workspaceId);
  const { context, connection } = scope;
  const names = context.config.alerts.channels.map(({ name }) => name);
  const { stored, outbox, disabled, failing } = connection.transaction(() => ({
    stored: readWorkspaceStatuses(connection),
    outbox: countUndelivered(connection),
    disabled: findDisabledChannels(connection),
    failing: findFailingChannels(connection, names),
  }))();
  const queue = await readQueue(context, ledgerId(connection));
  const nowMs = context.clock.now();
  const sources = {
    factsOf: readSyncFacts(connection),
    historyOf: createSlotHistory(connection, context.clock, 0),
    waitingSince(id: string, lastAttemptAtMs: number | null) {
      const sinceMs = queue.waitingSince.get(id);
      return sinceMs !== undefined && isStillQueued(sinceMs, lastAttemptAtMs, nowMs) ? sinceMs : null;
    },
  };
  const workspaces = listWorkspacesToShow(context.config, stored, sources, nowMs).filter(
    ({ workspace_id }) => workspaceId === undefined || workspace_id === workspaceId,
  );
  const exports = context.config.exports.map(readExportStatus);
  const ledgerAlerts = workspaceId === undefined ? countAlertsAboutLedger(connection) : 0;
  const openAlerts = workspaces.reduce((sum, workspace) => sum + workspace.open_alerts, ledgerAlerts);
  const { path } = context.config.ledger;
  return {
    ledger: { path, ledger_id: ledgerId(connection), locked_by: describeLockHolder(path, STATUS_LOCK_WAIT_MS) },
    workspaces,
    openAlerts,
    outbox,
    disabled,
    failing,
    queue: queue.status,
    exports,
    configuration: findRunningDaemon(path)?.configuration ?? null,
    ahead: findTimesAhead(connection, nowMs),
    skipped: listSkippedMonths(connection).filter(
      (month) => workspaceId === undefined || month.workspaceId === workspaceId,
    ),
    short: findShortHistories(connection, nowMs).filter(({ workspaceId: id }) =>
      workspaces.some(({ workspace_id, configured }) => configured && workspace_id === id),
    ),
    publish: await readPublishStatus(scope),
    outlets: readOutletStatuses(connection, context.config.outlets).map((standing) => ({
      ...standing,
      trouble: describeOutletProblems(standing, false),
    })),
  };
}

async function readPublishStatus({ context, connection }: Scope): Promise<StatusReport['publish']> {
  const { publish } = context.config;
  if (publish === null) return null;
  const { describeCopyStatus, readCopyStatus } = await import('../../publish/copy-status.ts');
  const standing = await readCopyStatus(publish, connection, context.clock.now());
  return { standing, words: describeCopyStatus(standing) };
}

export interface StatusReport {
  /**
   * `locked_by` is the process that holds the write lock, such as `process 4711 (sqlite3)`; null when nothing holds it.
   */
  ledger: { path: string; ledger_id: string; locked_by: string | null };
  workspaces: WorkspaceLine[];
  openAlerts: number;
  outbox: OutboxCounts;
  disabled: DisabledChannel[];
  failing: FailingChannel[];
  queue: QueueStatus;
  exports: ExportStatus[];
  /** The configuration that the running daemon uses; null when no daemon runs. */
  configuration: ConfigurationStatus | null;
  ahead: TimesAhead | null;
  skipped: SkippedMonth[];
  short: ShortHistory[];
  /** The copy in Postgres; null when none is configured. */
  publish: { standing: CopyStatus; words: string } | null;
  outlets: (OutletStatus & { trouble: string | null })[];
}

export type QueueStatus =
  | { status: 'not_running' }
  | { status: 'unavailable'; redis: string; reason: string }
  | { status: 'running'; redis: string; sync: QueueCounts };

/**
 * The status of this ledger's queue. `waitingSince` has the time since which a sync job has been waiting, for each
 * workspace with such a job.
 */
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
