import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BackupConfig } from '../../config/types.ts';
import { isoTime } from '../../core/clock.ts';
import { summarizeError } from '../../core/errors.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../../core/periodic-task.ts';
import { removeAbandoned } from '../../ledger/store/file/work-folder.ts';
import { type BackupReport, workFolderPrefix } from '../../ledger/transfer/backup/backup.ts';
import { dueSlot } from '../../queue/slots.ts';
import { askChild } from '../child-answer.ts';
import { backupName, newestBackup, rotateBackups } from './backup-folder.ts';

const CHECK_INTERVAL_MS = 15_000;

export interface BackupScheduleOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  ledgerPath: string;
  backup: BackupConfig;
  /** Raises the alert about a backup, or with null ends it. */
  tell(detail: string | null): Promise<void>;
}

/**
 * Makes a backup at each slot of the cron expression, and now when the newest one is older than the latest slot. A slot
 * is tried once: what fails is told, and the next slot or start tries again. The work is done by a process
 * of its own, which the stop ends at once; nothing of its backup is left.
 */
export function startBackupSchedule({ ledgerPath, backup, tell, clock, logger }: BackupScheduleOptions): PeriodicTask {
  const { cron, keep, folder } = backup;
  let lastTry = '';

  const makeIfDue = async (stopping: AbortSignal): Promise<void> => {
    const nowMs = clock.now();
    const path = join(folder, backupName(nowMs));
    let begun = false;
    let failure: string | null | undefined;
    try {
      const last = [lastTry, newestBackup(folder, nowMs) ?? ''].sort().at(-1) || null;
      if (dueSlot(cron, last, nowMs) === null) return;
      lastTry = isoTime(nowMs);
      if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
      begun = true;
      const { report } = await askChild<{ report: BackupReport }>({
        file: new URL('./backup-process.js', import.meta.url),
        args: [ledgerPath, path],
        stopping,
        crashed: 'backup_crashed',
        does: 'makes the backup',
      });
      const { sizeBytes, runs, headDigest } = report;
      logger.info({ path, sizeBytes, runs, headDigest }, 'backup made');
      const removed = rotateBackups(path, keep, nowMs);
      if (removed.length > 0) logger.info({ folder, removed }, 'old backups removed');
      failure = null;
    } catch (error) {
      if (begun) removeAbandoned(workFolderPrefix(path));
      const { code, message, hint } = summarizeError(error);
      if (stopping.aborted) {
        logger.info({ path }, 'backup ended by the stop');
        return;
      }
      logger.error({ path, code, reason: message, hint }, 'backup failed');
      failure = message;
    }
    if (failure !== undefined) await tell(failure);
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
