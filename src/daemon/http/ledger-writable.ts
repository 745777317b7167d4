import { accessSync, constants, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { summarizeError } from '../../core/errors.ts';

/** With less than this on the disk, nothing is begun. */
export const MIN_FREE_BYTES = 10 * 1024 * 1024;

/**
 * Why the ledger at `path` cannot be written, in words, or null when it can: the file and its folder must be open to
 * this user, because SQLite writes its log beside the file, and the disk must have more than `minFreeBytes` left.
 */
export function ledgerFault(path: string, minFreeBytes = MIN_FREE_BYTES): string | null {
  const folder = dirname(path);
  try {
    accessSync(path, constants.W_OK);
    accessSync(folder, constants.W_OK);
    const { bavail, bsize } = statfsSync(folder);
    const freeBytes = bavail * bsize;
    return freeBytes > minFreeBytes ? null : `only ${freeBytes} bytes are free in ${folder}`;
  } catch (error) {
    return summarizeError(error).message;
  }
}
