import { closeSync, existsSync, fsyncSync, linkSync, openSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { AppError } from '../../../core/errors.ts';
import type { LedgerDb } from '../ledger-db.ts';
import { LedgerError } from './sqlite-errors.ts';

/** 8 MiB: what is copied between two looks at the signal. */
const PAGES_A_STEP = 2048;
/** What SQLite keeps beside a database that is in use, or that was not closed. */
export const SIDECARS = ['-wal', '-journal', '-shm'] as const;
/** A file system without hard links says one of these. */
const NO_HARD_LINKS: readonly string[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/**
 * Copies every page of one snapshot of `source` into the new file `copy` (0600), flushed to disk. The read transaction
 * pins the snapshot: without it SQLite begins anew after each commit of another process, and may never end.
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
        return PAGES_A_STEP;
      },
    });
  } finally {
    if (source.inTransaction) source.exec('ROLLBACK');
  }
  // The source's pages say WAL, and a file that says so cannot be opened where no -shm can be made beside it.
  const connection = new Database(copy);
  try {
    connection.pragma('journal_mode = DELETE');
  } finally {
    connection.close();
  }
  syncPath(copy);
}

/** Whether SQLite says that the file is damaged, or no database at all. */
export function isDamage(error: unknown): error is Error {
  return error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code);
}

/** Faults of disk and permissions as the error `backup_failed`, which says what to do; anything else as it is. */
export function withRemedy(error: unknown, failed: string): unknown {
  if (error instanceof AppError || !(error instanceof Error) || !('code' in error)) return error;
  return new LedgerError('backup_failed', `${failed}: ${error.message}`, {
    hint: 'check the space on the disk and the right to write there; nothing half-done was kept',
    cause: error,
  });
}

/** Whether a path leads to the ledger or to one of the files that SQLite keeps beside it. */
export function isLedgerItself(path: string, ledgerPath: string): boolean {
  const ledger = realPath(ledgerPath);
  return ['', ...SIDECARS].some((suffix) => realPath(path) === `${ledger}${suffix}`) || isSameFile(path, ledgerPath);
}

/** Whether two paths are names of one file; false when one of them leads nowhere. */
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
 * Gives a file a second name; false where the file system has no hard links. Throws what `taken` gives when the name is
 * in use: a file is never replaced.
 */
export function linkTo(file: string, name: string, taken: () => Error): boolean {
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

/** Flushes a file, or the names in a folder, to disk. */
export function syncPath(path: string): void {
  const handle = openSync(path, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
