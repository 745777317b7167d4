import { join } from 'node:path';
import type { BackupConfig } from '../../config/types.ts';
import { isoTime } from '../../core/clock.ts';
import { summarizeError } from '../../core/errors.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../../core/periodic-task.ts';
import { makeFolder } from '../../core/process/folder-fault.ts';
import { removeAbandoned } from '../../ledger/store/file/work-folder.ts';
import { type BackupReport, workFolderPrefix } from '../../ledger/transfer/backup/backup.ts';
import { backupName, backupTime, newestBackup, oldBackups } from '../../ledger/transfer/backup/backup-names.ts';
import { dueSlot } from '../../queue/slots.ts';
import { askChild } from '../child-answer.ts';
import { backupPlace, removeUnfinished } from './backup-place.ts';
import type { BackupJob } from './backup-process.ts';

const CHECK_INTERVAL_MS = 15_000;

export interface BackupScheduleOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  ledgerPath: string;
  backup: BackupConfig;
  /** Raises the alert about a backup, or with null ends it. */
  tell(detail: string | null): Promise<void>;
}

export const BACKUP_FOLDER_REMEDY = 'correct `backup.folder`, or the rights of the folder';

/** What has failed and may succeed later is tried again after this. */
const REST_MS = 15 * 60_000;

/**
 * Makes a backup at each slot of the cron expression, and now when the newest one is older than the latest slot. A slot
 * is tried once, and again after a quarter of an hour where that may help; what fails is told. The work is done by a
 * process of its own, which the stop ends at once; nothing of its backup is left.
 */
export function startBackupSchedule({ ledgerPath, backup, tell, clock, logger }: BackupScheduleOptions): PeriodicTask {
  const { cron, keep, folder, to } = backup;
  const place = backupPlace(backup, clock);
  /** The last slot that was tried, or the last backup that was found; ISO time. */
  let last = '';
  /** By the monotonic clock. */
  let restUntilMs = 0;

  const makeBackup = async (path: string, stopping: AbortSignal): Promise<void> => {
    makeFolder(folder, BACKUP_FOLDER_REMEDY);
    const job: BackupJob = { ledgerPath, target: path, to };
    try {
      const { report } = await askChild<{ report: BackupReport }>({
        file: new URL('./backup-process.js', import.meta.url),
        job,
        stopping,
        crashed: 'backup_crashed',
        does: 'makes the backup',
      });
      const { path: made, sizeBytes, runs, headDigest } = report;
      logger.info({ path: made, sizeBytes, runs, headDigest }, 'backup made');
    } finally {
      removeAbandoned(workFolderPrefix(path));
    }
  };
  const makeIfDue = async (stopping: AbortSignal): Promise<void> => {
    const nowMs = clock.now();
    if (dueSlot(cron, last || null, nowMs) === null || restUntilMs > clock.monotonic()) return;
    const name = backupName(nowMs);
    const before = last;
    let failure: string | null = null;
    try {
      const newest = newestBackup(await place.names(stopping), nowMs);
      last = [last, (newest && backupTime(newest)) ?? ''].sort().at(-1) ?? '';
      if (dueSlot(cron, last || null, nowMs) === null) return;
      last = isoTime(nowMs);
      await makeBackup(join(folder, name), stopping);
      const old = oldBackups(await place.names(stopping), name, keep, nowMs);
      await place.remove(old, stopping);
      removeUnfinished(folder);
      if (old.length > 0) logger.info({ removed: old }, 'old backups removed');
    } catch (error) {
      const { code, message, hint, retryable } = summarizeError(error);
      if (stopping.aborted) {
        logger.info({ path: place.addressOf(name) }, 'backup ended by the stop');
        return;
      }
      logger.error({ path: place.addressOf(name), code, reason: message, hint }, 'backup failed');
      failure = message;
      last = retryable ? before : isoTime(nowMs);
      restUntilMs = clock.monotonic() + REST_MS;
    }
    await tell(failure);
  };
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: CHECK_INTERVAL_MS,
    atOnce: true,
    failed: 'backup failed',
    work: makeIfDue,
  });
}
