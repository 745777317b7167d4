import { statfsSync } from 'node:fs';

/** Nothing is written to a disk that has less free space than this. */
export const MIN_FREE_BYTES = 10 * 1024 * 1024;

export function freeBytesAt(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
