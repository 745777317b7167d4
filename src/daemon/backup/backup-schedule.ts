import { join } from 'node:path';
import type { BackupConfig } from '../../config/types.ts';
import { backoffMs } from '../../core/backoff.ts';
import { type Clock, isoTime } from '../../core/clock.ts';
import { summarizeError, withRemedy } from '../../core/errors.ts';
import { hasTimedOut, type PeriodicTask } from '../../core/periodic-task.ts';
import { siblingModule } from '../../core/process/module-file.ts';
import {
  BACKUP_FOLDER_REMEDY,
  type BackupReport,
  backupName,
  backupTimeOf,
  selectExpiredBackups,
  selectNewestBackup,
} from '../../ledger/transfer/backup/backup.ts';
import { dueSlot } from '../../queue/slots.ts';
import { withBucket } from '../../s3/bucket.ts';
import { isS3Failure } from '../../s3/refusals.ts';
import { requireWritable } from '../../s3/try-place.ts';
import { runInChild } from '../child-process.ts';
import { type Folders, openFolders } from '../folders/open-folders.ts';
import { healthOf, type JobDeps, startJob } from '../jobs.ts';
import type { BackupJob } from './backup-process.ts';

export interface BackupScheduleOptions extends JobDeps {
  ledgerPath: string;
  backup: BackupConfig;
  reportHealth(detail: string | null): Promise<void>;
}

const BACKUP_RETRY_DELAY_MS = 15 * 60_000;

/**
 * Delays before a bucket that refused a permission is tested again by writing a small object. A backup is made only if
 * this test succeeds.
 */
const REFUSED_BACKUP_RETRY = { baseMs: 30_000, maxMs: BACKUP_RETRY_DELAY_MS };

/**
 * Makes a backup at each slot of the cron expression, and at the start if the newest backup is older than the last
 * slot. A slot is retried after 15 minutes if the error is retryable, or sooner if the bucket refused a permission.
 * Each failure raises an alert. A child process does the work: a stop kills it and removes the unfinished backup.
 */
export function startBackupSchedule({
  ledgerPath,
  backup,
  reportHealth,
  clock,
  logger,
}: BackupScheduleOptions): PeriodicTask {
  const { keep, folder, to } = backup;
  const folders = openFolders({ crashed: 'backup_crashed' });
  const place = backupPlace(backup, folders, clock);
  const health = healthOf('backup', clock, reportHealth);
  /** ISO time of the last attempted slot or of the newest existing backup, whichever is later. */
  let last = '';
  /** Monotonic time before which no backup is retried. */
  let restUntilMs = 0;
  /** Number of times in a row that the bucket refused a permission. */
  let refusals = 0;
  /** Name of the new backup, if old backups still have to be removed after it; else null. */
  let unrotated: string | null = null;

  const makeBackup = async (name: string, stopping: AbortSignal): Promise<void> => {
    await folders.makeFolder(folder, BACKUP_FOLDER_REMEDY);
    const order: BackupJob = { ledgerPath, target: join(folder, name), to };
    try {
      const { report } = await runInChild<{ report: BackupReport }>({
        file: siblingModule(import.meta.url, 'backup-process'),
        job: order,
        stopping,
        crashed: 'backup_crashed',
        does: 'makes the backup',
      });
      const { path: made, sizeBytes, runs, headDigest } = report;
      logger.info({ path: made, sizeBytes, runs, headDigest }, 'backup made');
    } finally {
      await folders.removeUnfinishedBackup(folder, name);
    }
  };
  const rotate = async (newest: string, stopping: AbortSignal): Promise<void> => {
    const old = selectExpiredBackups(await place.names(stopping), newest, keep, clock.now());
    await place.remove(old, stopping);
    await folders.removeUnfinishedBackups(folder);
    unrotated = null;
    if (old.length > 0) logger.info({ removed: old }, 'old backups removed');
  };
  const makeIfDue = async (stopping: AbortSignal): Promise<void> => {
    const nowMs = clock.now();
    const isDue = (): boolean => dueSlot(backup, last || null, nowMs) !== null;
    if ((!isDue() && unrotated === null) || restUntilMs > clock.monotonic()) return;
    const name = backupName(nowMs);
    const before = last;
    let failure: string | null = null;
    try {
      if (isDue()) {
        // Tests the bucket first, so that a large ledger is not copied while the bucket still refuses the backup.
        if (refusals > 0 && unrotated === null) await place.requireWritable(stopping);
        const newest = selectNewestBackup(await place.names(stopping), nowMs);
        last = [last, (newest && backupTimeOf(newest)) ?? ''].sort().at(-1) ?? '';
        if (isDue()) {
          last = isoTime(nowMs);
          await makeBackup(name, stopping);
          unrotated = name;
        } else if (unrotated === null && refusals === 0) return;
      }
      if (unrotated !== null) await rotate(unrotated, stopping);
      refusals = 0;
    } catch (error) {
      const { code, message, hint, retryable } = summarizeError(hasTimedOut(stopping) ? stopping.reason : error);
      if (stopping.aborted && !hasTimedOut(stopping)) {
        logger.info({ path: place.addressOf(name) }, 'backup aborted by the stop');
        return;
      }
      const isRefusal = isS3Failure(code) && !retryable;
      const words = unrotated === null ? 'backup failed' : 'backup made, but old ones could not be removed';
      logger.error({ path: place.addressOf(unrotated ?? name), code, reason: message, hint }, words);
      const made = unrotated === null ? '' : `${unrotated} was made, but old ones could not be removed: `;
      failure = `${made}${isS3Failure(code) ? withRemedy({ message, hint }) : message}`;
      if (unrotated === null) last = retryable || isRefusal ? before : isoTime(nowMs);
      restUntilMs = clock.monotonic() + (isRefusal ? backoffMs(refusals, REFUSED_BACKUP_RETRY) : BACKUP_RETRY_DELAY_MS);
      refusals = isRefusal ? refusals + 1 : 0;
    }
    await health.report(failure);
  };
  return startJob('backup', { clock, logger }, async (stopping) => {
    folders.endWith(stopping);
    try {
      await makeIfDue(stopping);
    } finally {
      folders.close();
    }
  });
}

interface BackupPlace {
  addressOf(name: string): string;
  names(signal: AbortSignal): Promise<string[]>;
  remove(names: readonly string[], signal: AbortSignal): Promise<void>;
  /** Tests a bucket by writing a small object; throws if the bucket refuses. Does nothing for a folder. */
  requireWritable(signal: AbortSignal): Promise<void>;
}

function backupPlace({ folder, to }: BackupConfig, folders: Folders, clock: Clock): BackupPlace {
  if (to === null) {
    return {
      addressOf: (name) => join(folder, name),
      names: () => folders.listNames(folder),
      remove: (names) => folders.removeFiles(folder, names),
      requireWritable: async () => undefined,
    };
  }
  return {
    addressOf: (name) => `s3://${to.bucket}/${to.prefix}${name}`,
    names: (signal) => withBucket({ place: to, clock, signal }, (bucket) => bucket.names()),
    remove: (names, signal) =>
      withBucket({ place: to, clock, signal }, async (bucket) => {
        for (const name of names) await bucket.remove(name);
      }),
    requireWritable: (signal) => requireWritable({ place: to, clock, signal }),
  };
}
