import { statfsSync } from 'node:fs';

/** Room that this user has on the disk of a folder, in bytes. */
export function freeBytesAt(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
