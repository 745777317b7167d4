import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { UsageError } from '../errors.ts';

/**
 * Explains why no file can be written into a folder. For a missing folder, checks the nearest parent that exists.
 * Returns null if a file can be written.
 */
export function folderFault(folder: string): string | null {
  try {
    const found = statSync(folder, { throwIfNoEntry: false });
    if (found === undefined) {
      return folderFault(dirname(folder));
    }
    if (!found.isDirectory()) return `${folder} is not a folder`;
    accessSync(folder, constants.W_OK | constants.X_OK);
    return null;
  } catch (error) {
    return `the folder ${folder} cannot be written to (${(error as NodeJS.ErrnoException).code})`;
  }
}

/** Creates a folder (0700) unless it exists. Throws `UsageError` if no file can be written into it. */
export function makeFolder(folder: string, remedy: string): void {
  const fault = folderFault(folder);
  if (fault !== null) throw new UsageError(fault, remedy);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}
