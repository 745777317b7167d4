import { join } from 'node:path';
import { parseS3Url, prefixOf } from '../config/rules.ts';
import type { S3Access, S3Place } from '../config/types.ts';
import { UsageError } from '../core/errors.ts';
import { withWorkFolder } from '../ledger/store/file/work-folder.ts';
import { type BackupReport, backupLedger, backupTimeOf, selectNewestBackup } from '../ledger/transfer/backup/backup.ts';
import { withBucket } from './bucket.ts';
import { S3Error } from './refusals.ts';
import type { S3Connection } from './s3-client.ts';
import { uploadFile } from './upload.ts';

export interface BucketBackupOptions {
  ledgerPath: string;
  connection: S3Connection;
  name: string;
  force?: boolean;
  /** Path of the temporary folder for the backup, except for its last six characters, which are random. */
  workPrefix: string;
}

/**
 * Creates a backup with `backupLedger`, uploads it and verifies the uploaded object. Throws S3Error and the errors of
 * `backupLedger`; if it fails, it leaves no object in the bucket.
 */
export async function backupToBucket({
  ledgerPath,
  connection,
  name,
  force,
  workPrefix,
}: BucketBackupOptions): Promise<BackupReport> {
  return withBucket(connection, async (bucket) => {
    const address = bucket.addressOf(name);
    if (force !== true && (await bucket.head(name)) !== null) {
      const hint = 'choose another name, or replace the object with --force';
      throw new S3Error('backup_exists', `${address} already exists`, { status: null, retryable: false, hint });
    }
    return withWorkFolder(workPrefix, async (folder) => {
      const target = join(folder, 'backup.db');
      const report = await backupLedger({ ledgerPath, target, signal: connection.signal });
      await uploadFile({ bucket, path: target, name, isAbandoned: (other) => backupTimeOf(other) !== null });
      return { ...report, path: address };
    });
  });
}

/**
 * Parses an address such as `s3://bucket/prefix/name.db`. An address that does not end with `.db` is only a prefix, and
 * `name` is null. Throws UsageError for any other address, and if the configuration has no access key.
 */
export function parseBackupAddress(address: string, access: S3Access | null): { place: S3Place; name: string | null } {
  const found = parseS3Url(address);
  if (found === null)
    throw new UsageError(
      `${address} is not an S3 address`,
      'write it as s3://bucket/prefix or s3://bucket/prefix/name.db',
    );
  if (access === null)
    throw new UsageError(
      `${address} needs an access key`,
      'add `s3:` with `access_key_id` and `secret_access_key` to the configuration',
    );
  const { bucket, key } = found;
  const slash = key.lastIndexOf('/') + 1;
  if (key.endsWith('.db')) return { place: { access, bucket, prefix: key.slice(0, slash) }, name: key.slice(slash) };
  return { place: { access, bucket, prefix: prefixOf(key) }, name: null };
}

/**
 * Downloads the backup with this name to `path`; null: the newest scheduled backup. Returns the address of the backup.
 */
export function downloadBackup(connection: S3Connection, name: string | null, path: string): Promise<string> {
  return withBucket(connection, async (bucket) => {
    const selected = name ?? selectNewestBackup(await bucket.names(), connection.clock.now());
    if (selected === null) {
      const hint = 'check the prefix, or name the object: s3://bucket/prefix/name.db';
      throw new S3Error('backup_missing', `no backup found at ${bucket.addressOf('')}`, {
        status: null,
        retryable: false,
        hint,
      });
    }
    await bucket.download(selected, path);
    return bucket.addressOf(selected);
  });
}
