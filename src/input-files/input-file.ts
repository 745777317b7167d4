import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { UsageError } from '../core/errors.ts';
import { counted, readFaultText } from '../core/text/words.ts';

/** A file that a person named by its path or uploaded. */
export interface InputFile {
  /** The name of the file that errors show. */
  name: string;
  bytes: Buffer;
}

export const MIB = 1024 * 1024;
/** The maximum size of a file. A month with a million invoice lines takes about 100 MiB. */
const MAX_FILE_BYTES = 256 * MIB;
/**
 * The flags for opening a file. Without O_NONBLOCK, opening a named pipe would wait for a writer that may never come.
 */
const OPEN_WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Reads a file that a person named. Throws UsageError if the file is missing, is not a regular file, is too large, or
 * changes while it is read. Tests pass `read` to replace the reading from disk.
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
