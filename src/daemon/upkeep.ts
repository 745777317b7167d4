import type { Job } from '../alerts/rules/own/job-failed.ts';
import type { Releasers } from '../core/process/releasers.ts';
import { closesInForce } from '../ledger/journal/close/closes-in-force.ts';
import { timesAhead } from '../ledger/journal/times-ahead.ts';
import type { Context } from '../wiring/context.ts';
import { startBackupSchedule } from './backup/backup-schedule.ts';
import type { DaemonEvents } from './daemon-events.ts';
import { startExportSchedule } from './exports/export-schedule.ts';
import { type RetentionOptions, startRetention } from './retention.ts';
import { startClockWatch } from './watches/clock-watch.ts';
import { startWalWatch } from './watches/wal-watch.ts';

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
