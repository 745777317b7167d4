import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Job } from '../alerts/rules/job-failed/kind.ts';
import { DAY_MS } from '../core/durations.ts';
import { AppError } from '../core/errors.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';
import { freeBytesAt } from '../core/process/disk.ts';
import { Releasers } from '../core/process/releasers.ts';
import { closesInForce } from '../ledger/journal/close/closes-in-force.ts';
import { describeAhead, TIMES_AHEAD_REMEDY, type TimesAhead, timesAhead } from '../ledger/journal/times-ahead.ts';
import type { Context } from '../wiring/context.ts';
import type { Pruned } from '../writer/commands.ts';
import { DISK_FAULTS } from '../writer/writer.ts';
import { startBackupSchedule } from './backup/backup-schedule.ts';
import type { DaemonEvents } from './deliveries.ts';
import { type DiskWatchOptions, type EmergencyNotifier, startDiskWatch } from './disk-watch.ts';
import { startExportSchedule } from './exports/export-schedule.ts';

const PRUNE_INTERVAL_MS = 3_600_000;
/** Maximum transactions per tick, each a few milliseconds long; the rest waits for the next tick. */
const MAX_PRUNE_STEPS_PER_TICK = 40;

export interface RetentionOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  prune(request: { beforeMs: number; nowMs: number }): Promise<Pruned>;
  retentionDays: number;
}

/** Starts the jobs that keep the ledger file small. They use the writer, so they stop after the last run has been merged. */
export async function startUpkeep(context: Context, releasers: Releasers): Promise<void> {
  const { config, clock, logger } = context;
  const { path: ledgerPath, retentionDays } = config.ledger;
  const writer = await context.writer();
  const checkpoint = () => writer.truncateLog(undefined);
  const walWatch = startWalWatch({ ledgerPath, checkpoint, clock, logger });
  releasers.push(() => walWatch.stop());
  const prune: RetentionOptions['prune'] = (request) => writer.prune(request);
  const retention = startRetention({ prune, retentionDays, clock, logger });
  releasers.push(() => retention.stop());
}

export function startLedgerClockWatch(context: Context, events: DaemonEvents, releasers: Releasers): void {
  const { clock, logger } = context;
  const { connection } = context.reader();
  const reportHealth = healthReporter(context, events, 'clock');
  const watch = startClockWatch({ timesAhead: (nowMs) => timesAhead(connection, nowMs), reportHealth, clock, logger });
  releasers.push(() => watch.stop());
}

export function emergencyNotifier(context: Context): EmergencyNotifier {
  return {
    messages: (detail) => context.directMessages({ job: 'disk', detail }),
    send: (message, signal) => context.sendDirectly(message, signal),
  };
}

export function startLedgerDiskWatch(
  context: Context,
  events: DaemonEvents,
  releasers: Releasers,
  {
    freeBytes = () => freeBytesAt(dirname(context.config.ledger.path)),
    unrecorded = null,
  }: Partial<Pick<DiskWatchOptions, 'freeBytes' | 'unrecorded'>>,
): void {
  const { clock, logger } = context;
  const watch = startDiskWatch({
    freeBytes,
    writeFault: () => context.diskFault,
    async reportHealth(detail, alreadySent) {
      try {
        if ((await context.reportJobHealth({ job: 'disk', detail }, alreadySent)) > 0) events.emit('notificationsDue');
        return true;
      } catch (error) {
        if (error instanceof AppError && DISK_FAULTS.includes(error.code)) return false;
        throw error;
      }
    },
    ...emergencyNotifier(context),
    unrecorded,
    clock,
    logger,
  });
  releasers.push(() => watch.stop());
}

function healthReporter(context: Context, events: DaemonEvents, job: Job): (detail: string | null) => Promise<void> {
  return async (detail) => {
    if ((await context.reportJobHealth({ job, detail })) > 0) events.emit('notificationsDue');
  };
}

export function startBackupsAndExports(context: Context, events: DaemonEvents): { stop(): Promise<void> } {
  const releasers = new Releasers();
  const stop = (): Promise<void> => releasers.release();
  const { config, clock, logger } = context;
  const { connection } = context.reader();
  if (config.backup !== null) {
    const { path: ledgerPath } = config.ledger;
    const reportHealth = healthReporter(context, events, 'backup');
    const backups = startBackupSchedule({ ledgerPath, backup: config.backup, reportHealth, clock, logger });
    releasers.push(() => backups.stop());
  }
  if (config.exports.length === 0) return { stop };
  const closesAfter = (eventSeq: number) => closesInForce(connection, eventSeq);
  const reportHealth = healthReporter(context, events, 'export');
  const exports = startExportSchedule({ config, closesAfter, reportHealth, clock, logger });
  releasers.push(() => exports.stop());
  return { stop };
}

/** Prunes records older than `retentionDays` at the start and every hour. */
export function startRetention({ prune, retentionDays, clock, logger }: RetentionOptions): PeriodicTask {
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: PRUNE_INTERVAL_MS,
    atOnce: true,
    failed: 'could not prune the ledger',
    async work(stopping) {
      const total = { certificates: 0, runs: 0, notifications: 0 };
      for (let step = 0; step < MAX_PRUNE_STEPS_PER_TICK && !stopping.aborted; step += 1) {
        const nowMs = clock.now();
        const { more, ...pruned } = await prune({ beforeMs: nowMs - retentionDays * DAY_MS, nowMs });
        total.certificates += pruned.certificates;
        total.runs += pruned.runs;
        total.notifications += pruned.notifications;
        if (!more) break;
      }
      if (Object.values(total).some((count) => count > 0)) logger.info({ ...total, retentionDays }, 'ledger pruned');
    },
  });
}

const CLOCK_CHECK_INTERVAL_MS = 60_000;
/** The state is reported again after this: a command on a machine with another clock may have changed the alert. */
const CLOCK_REPORT_INTERVAL_MS = 10 * 60_000;

interface ClockWatchOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  timesAhead(nowMs: number): TimesAhead | null;
  reportHealth(detail: string | null): Promise<void>;
}

/** Raises an alert while the ledger holds times in the future, and ends it afterwards. */
export function startClockWatch({ timesAhead, reportHealth, clock, logger }: ClockWatchOptions): PeriodicTask {
  let reported: boolean | null = null;
  let reportedMs = 0;
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: CLOCK_CHECK_INTERVAL_MS,
    atOnce: true,
    failed: 'could not check for times in the future',
    async work() {
      const nowMs = clock.now();
      const found = timesAhead(nowMs);
      const isChanged = (found !== null) !== reported;
      if (!isChanged && clock.monotonic() - reportedMs < CLOCK_REPORT_INTERVAL_MS) return;
      const detail = found === null ? null : describeAhead(found, nowMs);
      if (isChanged && detail !== null)
        logger.warn({ reason: detail, hint: TIMES_AHEAD_REMEDY }, 'the ledger holds times in the future');
      await reportHealth(detail);
      reported = found !== null;
      reportedMs = clock.monotonic();
    },
  });
}

const WAL_CHECK_INTERVAL_MS = 15_000;
/** A write-ahead log larger than this is checkpointed and truncated. */
const MAX_WAL_BYTES = 16 * 1024 * 1024;

interface WalWatchOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  ledgerPath: string;
  /** Checkpoints and truncates the log; returns false while a reader still needs it. */
  checkpoint(): Promise<boolean>;
}

/**
 * Truncates a large write-ahead log. SQLite truncates it only at a commit, and none may follow after a long reader has
 * closed.
 */
export function startWalWatch({ ledgerPath, checkpoint, clock, logger }: WalWatchOptions): PeriodicTask {
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: WAL_CHECK_INTERVAL_MS,
    failed: 'could not checkpoint the write-ahead log',
    async work() {
      const bytes = statSync(`${ledgerPath}-wal`, { throwIfNoEntry: false })?.size ?? 0;
      if (bytes <= MAX_WAL_BYTES) return;
      const cut = await checkpoint();
      logger.debug({ bytes, cut }, 'write-ahead log checkpointed');
    },
  });
}
