import { basename } from 'node:path';
import type { S3Place } from '../../config/types.ts';
import { systemClock } from '../../core/clock.ts';
import { type BackupReport, backupLedger, workFolderPrefix } from '../../ledger/transfer/backup/backup.ts';
import { backupToBucket } from '../../s3/bucket-backup.ts';
import { answerParent } from '../child-answer.ts';

export interface BackupJob {
  ledgerPath: string;
  /** The file to write; with `to` it is only put together beside it. */
  target: string;
  to: S3Place | null;
}

/**
 * Makes one backup: the daemon starts this as a process of its own, which can be ended at any moment and takes nothing
 * down with it when a damaged file crashes SQLite. This file is started, never imported.
 */
await answerParent(async ({ ledgerPath, target, to }: BackupJob, signal): Promise<{ report: BackupReport }> => {
  if (to === null) return { report: await backupLedger({ ledgerPath, target, signal }) };
  const way = { place: to, clock: systemClock, signal };
  const report = await backupToBucket({
    ledgerPath,
    way,
    name: basename(target),
    workPrefix: workFolderPrefix(target),
  });
  return { report };
});
