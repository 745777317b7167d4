import { type ChildProcess, fork } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { BackupConfig } from '../../config/types.ts';
import { isoTime, type WallClock } from '../../core/clock.ts';
import { summarizeError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { BackupReport } from '../../ledger/transfer/backup/backup.ts';
import { dueSlot } from '../../queue/slots.ts';
import { answerOf } from '../child-answer.ts';
import { backupName, newestBackup, removeUnfinished, rotateBackups } from './backup-folder.ts';

const CHECK_INTERVAL_MS = 15_000;

export interface BackupScheduleOptions {
  ledgerPath: string;
  backup: BackupConfig;
  clock: WallClock;
  logger: Logger;
}

export interface BackupSchedule {
  /** Makes the backup that is due, if one is; resolves when it is there and the folder tidied. Never rejects. */
  check(): Promise<void>;
  /** Ends a backup under way at once and leaves nothing of it. May be called twice. */
  stop(): Promise<void>;
}

/**
 * Makes a backup at each slot of the cron expression, and now when the newest one is older than the latest slot. A slot
 * is tried once: what fails is logged as an error, and the next slot or start tries again. The work is done by a process
 * of its own.
 */
export function startBackupSchedule({ ledgerPath, backup, clock, logger }: BackupScheduleOptions): BackupSchedule {
  const { cron, keep, folder } = backup;
  let stopped = false;
  let lastTry = '';
  let child: ChildProcess | null = null;
  let running: Promise<void> | null = null;

  const makeIfDue = async (): Promise<void> => {
    const nowMs = clock.now();
    const path = join(folder, backupName(nowMs));
    try {
      const last = [lastTry, newestBackup(folder, nowMs) ?? ''].sort().at(-1) || null;
      if (dueSlot(cron, last, nowMs) === null) return;
      lastTry = isoTime(nowMs);
      if (!existsSync(folder)) mkdirSync(folder, { mode: 0o700 });
      child = fork(new URL('./backup-process.js', import.meta.url), [ledgerPath, path], {
        execArgv: [],
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      });
      const { report } = await answerOf<{ report: BackupReport }>(child, {
        crashed: 'backup_crashed',
        did: 'made the backup',
      });
      const { sizeBytes, runs, headDigest } = report;
      logger.info({ path, sizeBytes, runs, headDigest }, 'backup made');
      const removed = rotateBackups(path, keep, nowMs);
      if (removed.length > 0) logger.info({ folder, removed }, 'old backups removed');
    } catch (error) {
      if (child !== null) removeUnfinished(path);
      const { code, message, hint } = summarizeError(error);
      if (stopped) logger.info({ path }, 'backup ended by the stop');
      else logger.error({ path, code, reason: message, hint }, 'backup failed');
    } finally {
      child = null;
    }
  };
  const check = (): Promise<void> => {
    if (stopped) return Promise.resolve();
    running ??= makeIfDue().finally(() => {
      running = null;
    });
    return running;
  };
  const timer = setInterval(() => void check(), CHECK_INTERVAL_MS);
  void check();
  return {
    check,
    async stop() {
      stopped = true;
      clearInterval(timer);
      child?.kill('SIGKILL');
      await running;
    },
  };
}
