import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Job } from '../alerts/wording/kinds/own.ts';
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
import { type DiskWatchOptions, type PastLedger, startDiskWatch } from './disk-watch.ts';
import { startExportSchedule } from './exports/export-schedule.ts';

const INTERVAL_MS = 3_600_000;
/** Transactions of one tick, each a few milliseconds long: what is left over waits for the next tick. */
const STEPS_A_TICK = 40;

export interface RetentionOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  prune(request: { beforeMs: number; nowMs: number }): Promise<Pruned>;
  retentionDays: number;
}

/** What keeps the ledger's file small. It asks the writer, and so is stopped when no run's merge keeps that busy any more. */
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

export function startWatchOfClock(context: Context, events: DaemonEvents, releasers: Releasers): void {
  const { clock, logger } = context;
  const { connection } = context.reader();
  const tell = tellBy(context, events, 'clock');
  const watch = startClockWatch({ timesAhead: (nowMs) => timesAhead(connection, nowMs), tell, clock, logger });
  releasers.push(() => watch.stop());
}

export function pastLedger(context: Context): PastLedger {
  return {
    messages: (detail) => context.directMessages({ job: 'disk', detail }),
    send: (message, signal) => context.sendDirectly(message, signal),
  };
}

export function startWatchOfDisk(
  context: Context,
  events: DaemonEvents,
  releasers: Releasers,
  {
    freeBytes = () => freeBytesAt(dirname(context.config.ledger.path)),
    unwritten = null,
  }: Partial<Pick<DiskWatchOptions, 'freeBytes' | 'unwritten'>>,
): void {
  const { clock, logger } = context;
  const watch = startDiskWatch({
    freeBytes,
    writeFault: () => context.diskFault,
    async tell(detail, heard) {
      try {
        if ((await context.reportJobHealth({ job: 'disk', detail }, heard)) > 0) events.emit('notified');
        return true;
      } catch (error) {
        if (error instanceof AppError && DISK_FAULTS.includes(error.code)) return false;
        throw error;
      }
    },
    ...pastLedger(context),
    unwritten,
    clock,
    logger,
  });
  releasers.push(() => watch.stop());
}

function tellBy(context: Context, events: DaemonEvents, job: Job): (detail: string | null) => Promise<void> {
  return async (detail) => {
    if ((await context.reportJobHealth({ job, detail })) > 0) events.emit('notified');
  };
}

export function startFileSchedules(context: Context, events: DaemonEvents): { stop(): Promise<void> } {
  const releasers = new Releasers();
  const stop = (): Promise<void> => releasers.release();
  const { config, clock, logger } = context;
  const { connection } = context.reader();
  if (config.backup !== null) {
    const { path: ledgerPath } = config.ledger;
    const tell = tellBy(context, events, 'backup');
    const backups = startBackupSchedule({ ledgerPath, backup: config.backup, tell, clock, logger });
    releasers.push(() => backups.stop());
  }
  if (config.exports.length === 0) return { stop };
  const closesAfter = (eventSeq: number) => closesInForce(connection, eventSeq);
  const tell = tellBy(context, events, 'export');
  const exports = startExportSchedule({ config, closesAfter, tell, clock, logger });
  releasers.push(() => exports.stop());
  return { stop };
}

/** Forgets every hour, and at the start, what the ledger need not keep for longer than `retentionDays`. */
export function startRetention({ prune, retentionDays, clock, logger }: RetentionOptions): PeriodicTask {
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: INTERVAL_MS,
    atOnce: true,
    failed: 'what the ledger need not keep could not be forgotten',
    async work(stopping) {
      const total = { certificates: 0, runs: 0, notifications: 0 };
      for (let step = 0; step < STEPS_A_TICK && !stopping.aborted; step += 1) {
        const nowMs = clock.now();
        const { more, ...gone } = await prune({ beforeMs: nowMs - retentionDays * DAY_MS, nowMs });
        total.certificates += gone.certificates;
        total.runs += gone.runs;
        total.notifications += gone.notifications;
        if (!more) break;
      }
      if (Object.values(total).some((count) => count > 0)) logger.info({ ...total, retentionDays }, 'ledger pruned');
    },
  });
}

const CHECK_INTERVAL_MS = 60_000;
/** What is so is said again after this: a command, whose clock shows another time, may have told otherwise. */
const SAID_AGAIN_MS = 10 * 60_000;

interface ClockWatchOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  timesAhead(nowMs: number): TimesAhead | null;
  tell(detail: string | null): Promise<void>;
}

/** Says it once when the ledger holds times to come, and when it does no more. */
export function startClockWatch({ timesAhead, tell, clock, logger }: ClockWatchOptions): PeriodicTask {
  let told: boolean | null = null;
  let toldMs = 0;
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: CHECK_INTERVAL_MS,
    atOnce: true,
    failed: 'times to come could not be looked for',
    async work() {
      const nowMs = clock.now();
      const found = timesAhead(nowMs);
      const isNews = (found !== null) !== told;
      if (!isNews && clock.monotonic() - toldMs < SAID_AGAIN_MS) return;
      const detail = found === null ? null : describeAhead(found, nowMs);
      if (isNews && detail !== null)
        logger.warn({ reason: detail, hint: TIMES_AHEAD_REMEDY }, 'the ledger holds times to come');
      await tell(detail);
      told = found !== null;
      toldMs = clock.monotonic();
    },
  });
}

const LOOK_INTERVAL_MS = 15_000;
/** A write-ahead log longer than this is written back and cut. */
const NOTABLE_BYTES = 16 * 1024 * 1024;

interface WalWatchOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  ledgerPath: string;
  /** Writes the log back and cuts it; false while a reader still needs it. */
  checkpoint(): Promise<boolean>;
}

/**
 * Looks after the ledger's write-ahead log: SQLite cuts it at a commit only, and a reader that stayed open for long may
 * have gone when no commit comes.
 */
export function startWalWatch({ ledgerPath, checkpoint, clock, logger }: WalWatchOptions): PeriodicTask {
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: LOOK_INTERVAL_MS,
    failed: 'the write-ahead log could not be written back',
    async work() {
      const bytes = statSync(`${ledgerPath}-wal`, { throwIfNoEntry: false })?.size ?? 0;
      if (bytes <= NOTABLE_BYTES) return;
      const cut = await checkpoint();
      logger.debug({ bytes, cut }, 'write-ahead log of the ledger looked after');
    },
  });
}
