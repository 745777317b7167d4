import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { UsageError } from '../../core/errors.ts';
import { randomId } from '../../core/randomness.ts';

/**
 * Writes a file atomically: readers see the whole old file or the whole new file, never a part. Only the owner can read
 * the file. `write` receives the path of an empty temporary file and fills it; the temporary file then replaces the one
 * at `path`. If `write` fails, the temporary file is deleted. A symbolic link at `path` is replaced and not followed,
 * because another user may have made it. Returns what `write` returns. Throws UsageError if `path` is not a file or
 * cannot be written.
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
