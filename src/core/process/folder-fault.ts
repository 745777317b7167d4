import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { UsageError } from '../errors.ts';

/**
 * Explains why no file can be written into a folder. Returns null if a file can be written. If the folder is missing,
 * its nearest existing parent is checked.
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

/** Creates a folder (0700) and its parents unless they exist. Throws `UsageError` if no file can be written into it. */
export function makeFolder(folder: string, remedy: string): void {
  const fault = folderFault(folder);
  if (fault !== null) throw new UsageError(fault, remedy);
  try {
    makeMissing(folder);
  } catch (error) {
    throw new UsageError(`the folder ${folder} cannot be created (${(error as NodeJS.ErrnoException).code})`, remedy);
  }
}

/**
 * Creates a folder and its missing parents, one by one. The option `recursive` is not used: with it, `mkdirSync` never
 * returns if the parent exists and `mkdir` fails with ENOENT, as in /proc.
 */
function makeMissing(folder: string): void {
  if (existsSync(folder)) return;
  makeMissing(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have created the folder meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
