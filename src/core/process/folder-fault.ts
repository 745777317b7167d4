import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { UsageError } from '../errors.ts';

/** Why no file can be written into a folder, which is still to be made where it does not exist; null when one can. */
export function folderFault(folder: string): string | null {
  try {
    const found = statSync(folder, { throwIfNoEntry: false });
    if (found === undefined) {
      return folderFault(dirname(folder));
    }
    if (!found.isDirectory()) return `${folder} is no folder`;
    accessSync(folder, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return `the folder ${folder} cannot be written to (${(error as NodeJS.ErrnoException).code})`;
  }
}

/** Makes a folder (0700) unless it is there. Throws `UsageError` where no file can be written into it. */
export function makeFolder(folder: string, remedy: string): void {
  const fault = folderFault(folder);
  if (fault !== null) throw new UsageError(fault, remedy);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}
