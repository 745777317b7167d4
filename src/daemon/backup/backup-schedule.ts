import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { BackupConfig } from '../../config/types.ts';
import { backoffMs } from '../../core/backoff.ts';
import { type Clock, isoTime } from '../../core/clock.ts';
import { summarizeError, withRemedy } from '../../core/errors.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../../core/periodic-task.ts';
import { makeFolder } from '../../core/process/folder-fault.ts';
import { siblingModule } from '../../core/process/module-file.ts';
import { removeAbandoned } from '../../ledger/store/file/work-folder.ts';
import {
  type BackupReport,
  backupName,
  backupTime,
  newestBackup,
  oldBackups,
  workFolderPrefix,
} from '../../ledger/transfer/backup/backup.ts';
import { dueSlot } from '../../queue/slots.ts';
import { withBucket } from '../../s3/bucket.ts';
import { isFixedElsewhere } from '../../s3/refusals.ts';
import { testWriting } from '../../s3/try-place.ts';
import { runInChild } from '../child-process.ts';
import type { BackupJob } from './backup-process.ts';

const BACKUP_CHECK_INTERVAL_MS = 15_000;

export interface BackupScheduleOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  ledgerPath: string;
  backup: BackupConfig;
  reportHealth(detail: string | null): Promise<void>;
}

export const BACKUP_FOLDER_REMEDY = 'correct `backup.folder`, or the rights of the folder';

const BACKUP_RETRY_DELAY_MS = 15 * 60_000;

/** Delays before a place that refused a right is tested again with a small object; a backup follows only if that succeeds. */
const REFUSED_BACKUP_RETRY = { baseMs: 30_000, maxMs: BACKUP_RETRY_DELAY_MS };

/**
 * Makes a backup at each slot of the cron expression, and at the start if the newest backup is older than the last slot. A
 * slot is retried after 15 minutes if the error is retryable, or sooner if the place refused a right; each failure raises
 * an alert. A child process does the work: a stop kills it and removes the unfinished backup.
 */
export function startBackupSchedule({
  ledgerPath,
  backup,
  reportHealth,
  clock,
  logger,
}: BackupScheduleOptions): PeriodicTask {
  const { cron, keep, folder, to } = backup;
  const place = backupPlace(backup, clock);
  /** ISO time of the last attempted slot or of the newest existing backup, whichever is later. */
  let last = '';
  /** Monotonic time before which nothing is retried. */
  let restUntilMs = 0;
  /** Refusals by the place in a row. */
  let refusals = 0;
  /** The new backup after which old ones could not be removed yet; null if there is none. */
  let unrotated: string | null = null;

  const makeBackup = async (path: string, stopping: AbortSignal): Promise<void> => {
    makeFolder(folder, BACKUP_FOLDER_REMEDY);
    const order: BackupJob = { ledgerPath, target: path, to };
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
      removeAbandoned(workFolderPrefix(path));
    }
  };
  const rotate = async (newest: string, stopping: AbortSignal): Promise<void> => {
    const old = oldBackups(await place.names(stopping), newest, keep, clock.now());
    await place.remove(old, stopping);
    removeUnfinished(folder);
    unrotated = null;
    if (old.length > 0) logger.info({ removed: old }, 'old backups removed');
  };
  const makeIfDue = async (stopping: AbortSignal): Promise<void> => {
    const nowMs = clock.now();
    const isDue = (): boolean => dueSlot(cron, last || null, nowMs) !== null;
    if ((!isDue() && unrotated === null) || restUntilMs > clock.monotonic()) return;
    const name = backupName(nowMs);
    const before = last;
    let failure: string | null = null;
    try {
      if (isDue()) {
        // Avoids copying a large ledger for a place that still refuses it.
        if (refusals > 0 && unrotated === null) await place.testWriting(stopping);
        const newest = newestBackup(await place.names(stopping), nowMs);
        last = [last, (newest && backupTime(newest)) ?? ''].sort().at(-1) ?? '';
        if (isDue()) {
          last = isoTime(nowMs);
          await makeBackup(join(folder, name), stopping);
          unrotated = name;
        } else if (unrotated === null && refusals === 0) return;
      }
      if (unrotated !== null) await rotate(unrotated, stopping);
      refusals = 0;
    } catch (error) {
      const { code, message, hint, retryable } = summarizeError(error);
      if (stopping.aborted) {
        logger.info({ path: place.addressOf(name) }, 'backup aborted by the stop');
        return;
      }
      const isRefusal = isFixedElsewhere(code) && !retryable;
      const words = unrotated === null ? 'backup failed' : 'backup made, but old ones could not be removed';
      logger.error({ path: place.addressOf(unrotated ?? name), code, reason: message, hint }, words);
      const made = unrotated === null ? '' : `${unrotated} was made, but old ones could not be removed: `;
      failure = `${made}${isFixedElsewhere(code) ? withRemedy({ message, hint }) : message}`;
      if (unrotated === null) last = retryable || isRefusal ? before : isoTime(nowMs);
      restUntilMs = clock.monotonic() + (isRefusal ? backoffMs(refusals, REFUSED_BACKUP_RETRY) : BACKUP_RETRY_DELAY_MS);
      refusals = isRefusal ? refusals + 1 : 0;
    }
    await reportHealth(failure);
  };
  return startPeriodicTask({
    clock,
    logger,
    intervalMs: BACKUP_CHECK_INTERVAL_MS,
    atOnce: true,
    failed: 'backup failed',
    work: makeIfDue,
  });
}

/** Matches the name of a folder in which a backup is built, up to its random suffix. */
const UNFINISHED_NAME = /^ledger-\d{8}T\d{6}Z\.db\.part-/;

interface BackupPlace {
  addressOf(name: string): string;
  names(signal: AbortSignal): Promise<string[]>;
  remove(names: readonly string[], signal: AbortSignal): Promise<void>;
  /** Writes a small object; throws the refusal if there is one. */
  testWriting(signal: AbortSignal): Promise<void>;
}

function backupPlace({ folder, to }: BackupConfig, clock: Clock): BackupPlace {
  if (to === null) {
    return {
      addressOf: (name) => join(folder, name),
      names: async () => namesIn(folder),
      remove: async (names) => {
        for (const name of names) rmSync(join(folder, name));
      },
      testWriting: async () => undefined,
    };
  }
  return {
    addressOf: (name) => `s3://${to.bucket}/${to.prefix}${name}`,
    names: (signal) => withBucket({ place: to, clock, signal }, (bucket) => bucket.names()),
    remove: (names, signal) =>
      withBucket({ place: to, clock, signal }, async (bucket) => {
        for (const name of names) await bucket.remove(name);
      }),
    testWriting: (signal) => testWriting({ place: to, clock, signal }),
  };
}

export function removeUnfinished(folder: string): void {
  for (const name of namesIn(folder)) {
    const prefix = UNFINISHED_NAME.exec(name)?.[0];
    if (prefix !== undefined) removeAbandoned(join(folder, prefix));
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
