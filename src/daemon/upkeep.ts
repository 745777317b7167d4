import type { Job } from '../alerts/rules/own/job-failed.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';
import type { Releasers } from '../core/process/releasers.ts';
import { closesInForce } from '../ledger/journal/close/closes-in-force.ts';
import { timesAhead } from '../ledger/journal/times-ahead.ts';
import type { Context } from '../wiring/context.ts';
import type { Pruned } from '../writer/commands/ledger-commands.ts';
import { startBackupSchedule } from './backup/backup-schedule.ts';
import type { DaemonEvents } from './daemon-events.ts';
import { startExportSchedule } from './exports/export-schedule.ts';
import { startClockWatch } from './watches/clock-watch.ts';
import { startWalWatch } from './watches/wal-watch.ts';

const INTERVAL_MS = 3_600_000;
/** Transactions of one tick, each a few milliseconds long: what is left over waits for the next tick. */
const STEPS_A_TICK = 40;
const DAY_MS = 86_400_000;

export interface RetentionOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  /** Forgets some of what is older. */
  prune(request: { beforeMs: number; nowMs: number }): Promise<Pruned>;
  retentionDays: number;
}

/** What keeps the ledger's file small. It asks the writer, and so is stopped when no run's merge keeps that busy any more. */
export async function startUpkeep(context: Context, releasers: Releasers): Promise<void> {
  const { config, clock, logger } = context;
  const { path: ledgerPath, retentionDays } = config.ledger;
  const writer = await context.writer();
  const checkpoint = () => writer.call('truncateLog', undefined);
  const walWatch = startWalWatch({ ledgerPath, checkpoint, clock, logger });
  releasers.push(() => walWatch.stop());
  const prune: RetentionOptions['prune'] = (request) => writer.call('prune', request);
  const retention = startRetention({ prune, retentionDays, clock, logger });
  releasers.push(() => retention.stop());
}

/** Says when the ledger holds times to come. */
export function startWatchOfClock(context: Context, events: DaemonEvents, releasers: Releasers): void {
  const { clock, logger } = context;
  const { connection } = context.reader();
  const tell = tellBy(context, events, 'clock');
  const watch = startClockWatch({ timesAhead: (nowMs) => timesAhead(connection, nowMs), tell, clock, logger });
  releasers.push(() => watch.stop());
}

/** Raises an alert about a job, or with null ends it. */
function tellBy(context: Context, events: DaemonEvents, job: Job): (detail: string | null) => Promise<void> {
  return async (detail) => {
    if ((await context.tellOfJob({ job, detail })) > 0) events.emit('notified');
  };
}

/** The files that are made by themselves. */
export function startFileSchedules(context: Context, events: DaemonEvents, releasers: Releasers): void {
  const { config, clock, logger } = context;
  const { connection } = context.reader();
  if (config.backup !== null) {
    const { path: ledgerPath } = config.ledger;
    const tell = tellBy(context, events, 'backup');
    const backups = startBackupSchedule({ ledgerPath, backup: config.backup, tell, clock, logger });
    releasers.push(() => backups.stop());
  }
  if (config.exports.length === 0) return;
  const closesAfter = (eventSeq: number) => closesInForce(connection, eventSeq);
  const tell = tellBy(context, events, 'export');
  const exports = startExportSchedule({ config, closesAfter, tell, clock, logger });
  releasers.push(() => exports.stop());
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
