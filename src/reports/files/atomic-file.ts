import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { UsageError } from '../../core/errors.ts';
import { randomId } from '../../core/randomness.ts';

/**
 * Writes a file atomically, readable by its owner only: readers see the old or the new file, never a part. A link is
 * replaced, never followed, because another user may have made it. `write` receives the path of an empty file. If it
 * fails, nothing is left behind. Returns what `write` returns. Throws UsageError if `path` cannot be a file.
 */
export async function writeAtomically<T>(path: string, write: (part: string) => Promise<T> | T): Promise<T> {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
    throw new UsageError(`${path} is not a file`, 'name a file, or omit --out to write to standard output');
  }
  const part = join(dirname(path), `.${basename(path).slice(0, 100)}.part-${randomId().slice(0, 8)}`);
  try {
    closeSync(openSync(part, 'wx', 0o600));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`${path} cannot be written (${code})`, 'check that its folder exists and can be written to');
  }
  try {
    const result = await write(part);
    const descriptor = openSync(part, 'r+');
    fsyncSync(descriptor);
    closeSync(descriptor);
    renameSync(part, path);
    return result;
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}
