import { readFileSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { openReader } from './open.ts';

/** Where SQLite puts the lock of the one who writes: on this byte of the -shm. */
const WRITE_LOCK_BYTE = 120;

/**
 * Who holds the lock for writing, in words such as `process 4711 (sqlite3)`; null when this process can have it within
 * `waitMs`, which blocks. A run that applies holds it for moments, so only who waits knows of a lock that stays.
 */
export function lockHolder(path: string, waitMs: number): string | null {
  const reader = openReader(path);
  const connection = new Database(path, { timeout: waitMs });
  try {
    connection.exec('BEGIN IMMEDIATE; ROLLBACK');
    return null;
  } catch (error) {
    // Whoever may not write at all has not been kept from it by a lock.
    if (!(error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY'))) return null;
    return nameHolder(path) ?? 'another process';
  } finally {
    // The one that reads closes last, see `closeForWriting`.
    connection.close();
    reader.close();
  }
}

/** Linux lists locks with the process that holds them; null elsewhere, and for a process that this one cannot see. */
function nameHolder(path: string): string | null {
  try {
    const { ino } = statSync(`${path}-shm`);
    const lines = readFileSync('/proc/locks', 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/));
    const found = lines.find(([, , , kind, , file, from, to]) => {
      return (
        kind === 'WRITE' &&
        file?.endsWith(`:${ino}`) &&
        Number(from) <= WRITE_LOCK_BYTE &&
        WRITE_LOCK_BYTE <= Number(to)
      );
    });
    const pid = found?.[4];
    return pid === undefined ? null : `process ${pid} (${readFileSync(`/proc/${pid}/comm`, 'utf8').trim()})`;
  } catch {
    return null;
  }
}
