import { join } from 'node:path';
import { parseS3Url, prefixOf } from '../config/rules.ts';
import type { S3Access, S3Place } from '../config/types.ts';
import { UsageError } from '../core/errors.ts';
import { inWorkFolder } from '../ledger/store/file/work-folder.ts';
import { type BackupReport, backupLedger, backupTime, newestBackup } from '../ledger/transfer/backup/backup.ts';
import { withBucket } from './bucket.ts';
import { S3Error } from './refusals.ts';
import type { S3Way } from './s3-client.ts';
import { uploadFile } from './upload.ts';

export interface BucketBackupOrder {
  ledgerPath: string;
  way: S3Way;
  name: string;
  force?: boolean;
  /** Where the backup is put together: in a folder of this name and six more characters. */
  workPrefix: string;
}

/**
 * Makes a backup as `backupLedger` does, and an object of it, which is checked. Throws S3Error, and what `backupLedger`
 * throws. Whatever is thrown, nothing was left behind.
 */
export async function backupToBucket({
  ledgerPath,
  way,
  name,
  force,
  workPrefix,
}: BucketBackupOrder): Promise<BackupReport> {
  return withBucket(way, async (bucket) => {
    const address = bucket.addressOf(name);
    if (force !== true && (await bucket.head(name)) !== null) {
      const hint = 'name another object, or replace it with --force';
      throw new S3Error('backup_exists', `${address} exists`, { status: null, retryable: false, hint });
    }
    return inWorkFolder(workPrefix, async (folder) => {
      const target = join(folder, 'backup.db');
      const report = await backupLedger({ ledgerPath, target, signal: way.signal });
      await uploadFile({ bucket, path: target, name, isAbandoned: (other) => backupTime(other) !== null });
      return { ...report, path: address };
    });
  });
}

/** Where an address such as `s3://bucket/prefix/name.db` leads: what does not end with `.db` is a prefix, without a name. */
export function backupAddress(address: string, access: S3Access | null): { place: S3Place; name: string | null } {
  const found = parseS3Url(address);
  if (found === null)
    throw new UsageError(`${address} is no address`, 'write it as s3://bucket/prefix or s3://bucket/prefix/name.db');
  if (access === null)
    throw new UsageError(`${address} needs a key`, 'write `s3:` with its key into the configuration');
  const { bucket, key } = found;
  const slash = key.lastIndexOf('/') + 1;
  if (key.endsWith('.db')) return { place: { access, bucket, prefix: key.slice(0, slash) }, name: key.slice(slash) };
  return { place: { access, bucket, prefix: prefixOf(key) }, name: null };
}

/** Writes the backup of this name to a file; null: the newest one that a schedule has made. Returns its address. */
export function fetchBackup(way: S3Way, name: string | null, path: string): Promise<string> {
  return withBucket(way, async (bucket) => {
    const wanted = name ?? newestBackup(await bucket.names(), way.clock.now());
    if (wanted === null) {
      const hint = 'check the prefix, or name the object: s3://bucket/prefix/name.db';
      throw new S3Error('backup_missing', `there is no backup at ${bucket.addressOf('')}`, {
        status: null,
        retryable: false,
        hint,
      });
    }
    await bucket.download(wanted, path);
    return bucket.addressOf(wanted);
  });
}
