import { readFileSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { openReader } from './open.ts';

/** The byte of the -shm file on which SQLite takes the write lock. */
const WRITE_LOCK_BYTE = 120;

/**
 * Describes the process that holds the write lock, such as `process 4711 (sqlite3)`; null when the lock becomes free
 * within `waitMs`. Blocks the thread while it waits. The program itself holds the lock only for moments, so a process
 * that holds it longer is stuck.
 */
export function describeLockHolder(path: string, waitMs: number): string | null {
  const reader = openReader(path);
  const connection = new Database(path, { timeout: waitMs });
  try {
    connection.exec('BEGIN IMMEDIATE; ROLLBACK');
    return null;
  } catch (error) {
    // Any other error, such as missing write permission, does not show that the lock is held.
    if (!(error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY'))) return null;
    return describeHolder(path) ?? 'another process';
  } finally {
    // The read-only connection is closed last, see `closeForWriting`.
    connection.close();
    reader.close();
  }
}

/**
 * Describes the lock's holder from Linux's list of locks; null on other systems, and when the holder is not visible to
 * this process.
 */
function describeHolder(path: string): string | null {
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
