import { dirname } from 'node:path';
import type { Job } from '../../alerts/rules/job-failed/kind.ts';
import { AppError } from '../../core/errors.ts';
import { freeBytesAt } from '../../core/process/disk.ts';
import { listClosesInForce } from '../../ledger/journal/close/closes-in-force.ts';
import { findTimesAhead } from '../../ledger/journal/times-ahead.ts';
import type { ExportStatus } from '../../reports/files/export-folder.ts';
import type { Context } from '../../wiring/context.ts';
import { DISK_FAULT_CODES } from '../../writer/writer.ts';
import { startBackupSchedule } from '../backup/backup-schedule.ts';
import { startExportSchedule } from '../exports/export-schedule.ts';
import type { HealthProbe } from '../http/probe.ts';
import { type Stoppable, stopAll } from '../stoppable.ts';
import { startClockWatch } from './clock-watch.ts';
import { type DiskWatchOptions, type EmergencyNotifier, startDiskWatch } from './disk-watch.ts';
import type { PublishWatch } from './publish-watch.ts';
import { startRetention } from './retention.ts';
import { staleChecks, startStaleWatch } from './stale-watch.ts';
import { startWalWatch } from './wal-watch.ts';

/**
 * Starts the jobs that keep the ledger file small. They use the writer, so they stop after the last run has been
 * merged.
 */
export async function startUpkeep(context: Context): Promise<Stoppable> {
  const { config, clock, logger } = context;
  const { path: ledgerPath, retentionDays } = config.ledger;
  const writer = await context.writer();
  const walWatch = startWalWatch({ ledgerPath, checkpoint: () => writer.truncateLog(undefined), clock, logger });
  const retention = startRetention({ prune: (request) => writer.prune(request), retentionDays, clock, logger });
  return { stop: () => stopAll([walWatch, retention]) };
}

export function startContextStaleWatch(context: Context, probe: HealthProbe, wakeDeliveries: () => void): Stoppable {
  const { clock, logger } = context;
  return startStaleWatch({
    stale: () => staleChecks(probe, clock),
    raise: (stale) => context.raiseStale(stale),
    wakeDeliveries,
    clock,
    logger,
  });
}

export function startLedgerClockWatch(context: Context, wakeDeliveries: () => void): Stoppable {
  const { clock, logger } = context;
  const { connection } = context.reader();
  const reportHealth = healthReporter(context, 'clock', wakeDeliveries);
  return startClockWatch({ findTimesAhead: (nowMs) => findTimesAhead(connection, nowMs), reportHealth, clock, logger });
}

export function emergencyNotifier(context: Context): EmergencyNotifier {
  return {
    messages: (detail) => context.composeEmergency({ job: 'disk', detail }),
    send: (message, signal) => context.sendDirectly(message, signal),
  };
}

export function startLedgerDiskWatch(
  context: Context,
  wakeDeliveries: () => void,
  {
    freeBytes = () => freeBytesAt(dirname(context.config.ledger.path)),
    unrecorded = null,
  }: Partial<Pick<DiskWatchOptions, 'freeBytes' | 'unrecorded'>>,
): Stoppable {
  const { clock, logger } = context;
  const { messages, send } = emergencyNotifier(context);
  return startDiskWatch({
    freeBytes,
    writeFault: () => context.diskFault,
    async reportHealth(detail, alreadySent) {
      try {
        if ((await context.reportJobHealth({ job: 'disk', detail }, alreadySent)) > 0) wakeDeliveries();
        return true;
      } catch (error) {
        if (error instanceof AppError && DISK_FAULT_CODES.includes(error.code)) return false;
        throw error;
      }
    },
    messages,
    send,
    unrecorded,
    clock,
    logger,
  });
}

/** The jobs that write the scheduled backups and exports. */
export interface FileJobs extends Stoppable {
  exportStatuses(): readonly ExportStatus[];
}

export function startBackupsAndExports(context: Context, wakeDeliveries: () => void): FileJobs {
  const { config, clock, logger } = context;
  const { connection } = context.reader();
  const { path: ledgerPath } = config.ledger;
  const backups =
    config.backup === null
      ? null
      : startBackupSchedule({
          ledgerPath,
          backup: config.backup,
          reportHealth: healthReporter(context, 'backup', wakeDeliveries),
          clock,
          logger,
        });
  const exports =
    config.exports.length === 0
      ? null
      : startExportSchedule({
          config,
          closesAfter: (eventSeq) => listClosesInForce(connection, eventSeq),
          reportHealth: healthReporter(context, 'export', wakeDeliveries),
          clock,
          logger,
        });
  return {
    stop: () => stopAll([backups, exports].filter((schedule) => schedule !== null)),
    exportStatuses: () => exports?.statuses() ?? [],
  };
}

function healthReporter(
  context: Context,
  job: Job,
  wakeDeliveries: () => void,
): (detail: string | null) => Promise<void> {
  return async (detail) => {
    if ((await context.reportJobHealth({ job, detail })) > 0) wakeDeliveries();
  };
}

/**
 * Starts publishing to Postgres. Returns null if `publish:` is not configured; the Postgres client is then not loaded.
 */
export async function startPublishing(context: Context, wakeDeliveries: () => void): Promise<PublishWatch | null> {
  const { clock, logger } = context;
  const { publish: target, ledger } = context.config;
  if (target === null) return null;
  const [{ PublishWatch }, { publishLedger }] = await Promise.all([
    import('./publish-watch.ts'),
    import('../../publish/publish-ledger.ts'),
  ]);
  return new PublishWatch({
    clock,
    logger,
    connection: context.reader().connection,
    staleMs: target.staleMs,
    unreadyWhenStale: target.unreadyWhenStale,
    publish: (signal) => publishLedger({ target, ledgerPath: ledger.path, nowMs: clock.now(), signal }),
    reportHealth: healthReporter(context, 'replica', wakeDeliveries),
  });
}

/**
 * Starts forwarding to the outlets. Returns null if no outlet is configured; the code of outlets is then not loaded.
 */
export async function startForwarding(context: Context, wakeDeliveries: () => void): Promise<Stoppable | null> {
  if (context.config.outlets.length === 0) return null;
  return (await import('./outlet-watch.ts')).startOutlets(context, wakeDeliveries);
}
