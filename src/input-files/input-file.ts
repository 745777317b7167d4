import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { UsageError } from '../core/errors.ts';
import { counted, readFaultText } from '../core/text/words.ts';

/** A file that a person handed in: from a path, or from an upload. */
export interface InputFile {
  /** The file's name in errors. */
  name: string;
  bytes: Buffer;
}

export const MIB = 1024 * 1024;
/** A month of a million invoice lines is about 100 MiB. */
const MAX_FILE_BYTES = 256 * MIB;
/** Without it, opening a named pipe waits for a writer that may never come. */
const OPEN_WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Reads a file that a person named. Throws UsageError for a file that is missing, not a regular file, too large or still
 * being written. `read` stands in for the file system in tests.
 */
export function readInputFile(path: string, name = path, read: (fd: number) => Buffer = readFileSync): InputFile {
  let fd: number;
  try {
    fd = openSync(path, OPEN_WITHOUT_WAITING);
  } catch (error) {
    throw unreadable(name, error);
  }
  try {
    const before = fstatSync(fd);
    refuseUnlessRegular(name, before);
    if (before.size > MAX_FILE_BYTES) throw fileTooLarge(name, before.size);
    const bytes = read(fd);
    const after = fstatSync(fd);
    if (after.size !== before.size || after.mtimeMs !== before.mtimeMs || bytes.length !== after.size) {
      throw new UsageError(`${name} changed while it was read`, 'wait until the file is complete, and try again');
    }
    return { name, bytes };
  } catch (error) {
    throw error instanceof UsageError ? error : unreadable(name, error);
  } finally {
    closeSync(fd);
  }
}

function refuseUnlessRegular(name: string, stats: Stats): void {
  if (stats.isFile()) return;
  if (stats.isDirectory()) throw new UsageError(`${name} is a folder`, 'name a file in it');
  const what = stats.isFIFO() ? 'a pipe' : 'a device';
  throw new UsageError(`${name} is ${what}`, 'write its content to a file first, and name that file');
}

function fileTooLarge(name: string, bytes: number): UsageError {
  const size = counted(Math.ceil(bytes / MIB), 'MiB', 'MiB');
  return new UsageError(`${name} has ${size}; the limit is ${MAX_FILE_BYTES / MIB} MiB`, 'split the file');
}

function unreadable(name: string, error: unknown): UsageError {
  const reason = readFaultText((error as NodeJS.ErrnoException).code);
  return new UsageError(`${name} cannot be read (${reason})`, 'check the path');
}
