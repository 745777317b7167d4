import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { BackupConfig } from '../../config/types.ts';
import type { Clock } from '../../core/clock.ts';
import { removeAbandoned } from '../../ledger/store/file/work-folder.ts';
import { withBucket } from '../../s3/bucket.ts';

/** The folder in which a backup is put together, up to what its name has at random. */
const UNFINISHED_NAME = /^ledger-\d{8}T\d{6}Z\.db\.part-/;

/** Where scheduled backups stay. */
export interface BackupPlace {
  addressOf(name: string): string;
  /** The names of all that is there. */
  names(signal: AbortSignal): Promise<string[]>;
  remove(names: readonly string[], signal: AbortSignal): Promise<void>;
}

/** The place of these settings: a folder, or a bucket. */
export function backupPlace({ folder, to }: BackupConfig, clock: Clock): BackupPlace {
  if (to === null) {
    return {
      addressOf: (name) => join(folder, name),
      names: async () => namesIn(folder),
      remove: async (names) => {
        for (const name of names) rmSync(join(folder, name));
      },
    };
  }
  return {
    addressOf: (name) => `s3://${to.bucket}/${to.prefix}${name}`,
    names: (signal) => withBucket({ place: to, clock, signal }, (bucket) => bucket.names()),
    remove: (names, signal) =>
      withBucket({ place: to, clock, signal }, async (bucket) => {
        for (const name of names) await bucket.remove(name);
      }),
  };
}

/** Removes what backups that were killed have left in a folder. */
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
