import { basename } from 'node:path';
import type { S3Place } from '../../config/types.ts';
import { systemClock } from '../../core/clock.ts';
import { type BackupReport, backupFolderPrefix, backupLedger } from '../../ledger/transfer/backup/backup.ts';
import { backupToBucket } from '../../s3/bucket-backup.ts';
import { runParentJob } from '../child-process.ts';

export interface BackupJob {
  ledgerPath: string;
  /** The file to write. If `to` is not null, the backup is built in the folder of this file and then uploaded. */
  target: string;
  to: S3Place | null;
}

/**
 * Makes one backup in a child process of the daemon. The child can be killed at any time, and a damaged file that
 * crashes SQLite does not crash the daemon. This file is run, never imported.
 */
await runParentJob(async ({ ledgerPath, target, to }: BackupJob, signal): Promise<{ report: BackupReport }> => {
  if (to === null) return { report: await backupLedger({ ledgerPath, target, signal }) };
  const connection = { place: to, clock: systemClock, signal };
  const report = await backupToBucket({
    ledgerPath,
    connection,
    name: basename(target),
    workPrefix: backupFolderPrefix(target),
  });
  return { report };
});
