import type Database from 'better-sqlite3';

/**
 * Writes the write-ahead log back into the ledger and cuts it to nothing; false when a reader still needs it. Waits for
 * nobody: this connection has other things to do.
 */
export function truncateLog(connection: Database.Database): boolean {
  const timeoutMs = connection.pragma('busy_timeout', { simple: true }) as number;
  connection.pragma('busy_timeout = 0');
  try {
    const [result] = connection.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    return result?.busy === 0;
  } finally {
    connection.pragma(`busy_timeout = ${timeoutMs}`);
  }
}
