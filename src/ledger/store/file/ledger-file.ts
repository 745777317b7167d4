import { closeSync, existsSync, fsyncSync, linkSync, openSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { AppError } from '../../../core/errors.ts';
import type { LedgerDb } from '../ledger-db.ts';
import { LedgerError } from './sqlite-errors.ts';

/** Number of pages that are copied between two checks of the abort signal: 8 MiB. */
const PAGES_PER_STEP = 2048;
/** Suffixes of the files that SQLite keeps next to a database that is in use, or was not closed. */
export const SIDECAR_SUFFIXES = ['-wal', '-journal', '-shm'] as const;
/** Error codes with which `link` fails on file systems without hard links. */
const NO_HARD_LINKS: readonly string[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/**
 * Copies every page of one snapshot of `source` into the new file `copy` (0600), flushed to disk. The read transaction
 * pins the snapshot: without it SQLite restarts the copy after each commit of another process, and may never finish.
 */
export async function copyLedger(source: LedgerDb, copy: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  closeSync(openSync(copy, 'wx', 0o600));
  source.exec('BEGIN');
  try {
    source.prepare('SELECT count(*) FROM sqlite_schema').get();
    await source.backup(copy, {
      progress: () => {
        signal.throwIfAborted();
        return PAGES_PER_STEP;
      },
    });
  } finally {
    if (source.inTransaction) source.exec('ROLLBACK');
  }
  // The copy is still in WAL mode, and a WAL database cannot be opened in a folder where no -shm file can be created.
  const connection = new Database(copy);
  try {
    connection.pragma('journal_mode = DELETE');
  } finally {
    connection.close();
  }
  flushToDisk(copy);
}

/** Reports whether an error says that a file is damaged, or is not an SQLite database. */
export function isDamagedFileError(error: unknown): error is Error {
  return error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
}

/** Converts a disk or permission error into `backup_failed` with a hint; returns any other error unchanged. */
export function toBackupError(error: unknown, failed: string): unknown {
  if (error instanceof AppError || !(error instanceof Error) || !('code' in error)) return error;
  return new LedgerError('backup_failed', `${failed}: ${error.message}`, {
    hint: 'check the free space and the write permission of its folder; no partial file was kept',
    cause: error,
  });
}

/** Reports whether a path leads to the ledger or to one of its SQLite sidecar files. */
export function isLedgerFile(path: string, ledgerPath: string): boolean {
  const ledger = realPath(ledgerPath);
  return (
    ['', ...SIDECAR_SUFFIXES].some((suffix) => realPath(path) === `${ledger}${suffix}`) || isSameFile(path, ledgerPath)
  );
}

/** Reports whether two paths name the same file; false when one of them does not exist. */
export function isSameFile(one: string, other: string): boolean {
  const a = statSync(one, { throwIfNoEntry: false });
  const b = statSync(other, { throwIfNoEntry: false });
  return a !== undefined && b !== undefined && a.ino === b.ino && a.dev === b.dev;
}

function realPath(path: string): string {
  const folder = dirname(resolve(path));
  return join(existsSync(folder) ? realpathSync(folder) : folder, basename(path));
}

/**
 * Gives a file a second name; returns false when the file system has no hard links. Throws the error of `taken` when
 * the name is in use, because an existing file is never replaced.
 */
export function createHardLink(file: string, name: string, taken: () => Error): boolean {
  try {
    linkSync(file, name);
    return true;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw taken();
    if (NO_HARD_LINKS.includes(code)) return false;
    throw error;
  }
}

/** Flushes a file, or the list of names in a folder, to disk. */
export function flushToDisk(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
