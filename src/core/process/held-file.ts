import Database from 'better-sqlite3';

/**
 * Holds a file until the result is closed, or this process ends, however it ends; null when another one holds it for longer than
 * `waitMs`, which blocks. It is an exclusive transaction on an empty SQLite file. The file stays: whoever removed it would let a second
 * holder in.
 */
export function holdFile(path: string, waitMs: number): Database.Database | null {
  const file = new Database(path, { timeout: waitMs });
  try {
    // A journal would need room on the disk.
    file.pragma('journal_mode = MEMORY');
    return file.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    file.close();
    if (error instanceof Database.SqliteError && error.code === 'SQLITE_BUSY') return null;
    throw error;
  }
}
