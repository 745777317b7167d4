import Database from 'better-sqlite3';

/**
 * Locks a file until the returned database is closed or this process ends for any reason. Waits up to `waitMs`,
 * blocking the thread; returns null if another process still has the lock. The lock is an exclusive transaction on an
 * empty SQLite file. The file is never removed: removing it would let a second process take the lock.
 */
export function lockFile(path: string, waitMs: number): Database.Database | null {
  const file = new Database(path, { timeout: waitMs });
  try {
    // A journal on disk would fail when the disk is full.
    file.pragma('journal_mode = MEMORY');
    return file.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    file.close();
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY') return null;
    throw error;
  }
}
