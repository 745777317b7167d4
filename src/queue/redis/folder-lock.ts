import Database from 'better-sqlite3';
import { sleep, systemClock } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';

const RETRY_MS = 20;

/**
 * Runs `work` while nobody else, in this process or another, is inside the same lock. Fails with `lock_timeout`
 * (retryable) after `waitMs` milliseconds.
 *
 * The lock is an exclusive transaction on an empty SQLite file: the system frees it when its holder ends, however that
 * ends. The file stays: whoever removed it would let a second holder in.
 */
export async function withFolderLock<T>(path: string, waitMs: number, work: () => Promise<T>): Promise<T> {
  const end = systemClock.monotonic() + waitMs;
  const connection = new Database(path, { timeout: 0 });
  try {
    while (!begin(connection)) {
      if (systemClock.monotonic() > end) {
        throw new AppError('lock_timeout', `${path} is held by another process`, {
          retryable: true,
          hint: 'another daemon is starting or stopping on this ledger; it is done within seconds',
        });
      }
      await sleep(systemClock, RETRY_MS);
    }
    return await work();
  } finally {
    // Closing ends the transaction.
    connection.close();
  }
}

function begin(connection: Database.Database): boolean {
  try {
    connection.exec('BEGIN EXCLUSIVE');
    return true;
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY') return false;
    throw error;
  }
}
