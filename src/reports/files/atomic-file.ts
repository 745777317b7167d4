import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { UsageError } from '../../core/errors.ts';
import { randomId } from '../../core/randomness.ts';

/**
 * Makes a file at once: whoever looks sees the old one or the new one, never half of it. It can be read by its owner
 * alone. A link is replaced, never followed: it may have been laid by somebody else. `write` gets the path of an empty
 * file to write into; when it fails, nothing is left behind. Throws UsageError when there can be no file at `path`.
 */
export async function writeAtomically(path: string, write: (part: string) => Promise<void> | void): Promise<void> {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
    throw new UsageError(`${path} is no file`, 'name a file, or leave --out away to write to stdout');
  }
  const part = join(dirname(path), `.${basename(path).slice(0, 100)}.part-${randomId().slice(0, 8)}`);
  try {
    closeSync(openSync(part, 'wx', 0o600));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`${path} cannot be written (${code})`, 'check that its folder exists and can be written to');
  }
  try {
    await write(part);
    const descriptor = openSync(part, 'r+');
    fsyncSync(descriptor);
    closeSync(descriptor);
    renameSync(part, path);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}
