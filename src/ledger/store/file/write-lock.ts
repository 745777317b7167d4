import { readFileSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { openReader } from './open.ts';

/** SQLite takes the write lock on this byte of the -shm file. */
const WRITE_LOCK_BYTE = 120;

/**
 * Describes the process that holds the write lock, such as `process 4711 (sqlite3)`; null when the lock is free within
 * `waitMs`, during which this blocks. Applying a run holds the lock for moments only, so waiting tells a stuck lock
 * from a normal one.
 */
export function lockHolder(path: string, waitMs: number): string | null {
  const reader = openReader(path);
  const connection = new Database(path, { timeout: waitMs });
  try {
    connection.exec('BEGIN IMMEDIATE; ROLLBACK');
    return null;
  } catch (error) {
    // Without write permission the attempt fails, but not because of a lock.
    if (!(error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY'))) return null;
    return describeHolder(path) ?? 'another process';
  } finally {
    // The read-only connection closes last, see `closeForWriting`.
    connection.close();
    reader.close();
  }
}

/** Describes the holder from Linux's list of locks; null on other systems, and for a process this one cannot see. */
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
