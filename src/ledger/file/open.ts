import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { LedgerError } from '../errors.ts';
import { assertSchemaIsCurrent } from '../schema/migrate.ts';

export type LedgerConnection = Database.Database;

/** SQLite before this can corrupt a WAL database when a checkpoint resets the log under a writer. */
const OLDEST_SAFE_SQLITE = [3, 51, 3] as const;
const BUSY_TIMEOUT_MS = 5000;

/** A connection that only reads. Times and periods are text, see the views. */
export interface LedgerReader {
  readonly connection: LedgerConnection;
  close(): void;
}

/**
 * Opens the ledger for writing: creates the file (0600, its folder 0700) when it is missing, and sets WAL,
 * `synchronous=FULL`, foreign keys and the busy timeout. Does not migrate.
 */
export function openForWriting(path: string): LedgerConnection {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (!existsSync(path)) {
    closeSync(openSync(path, 'a', 0o600));
    chmodSync(path, 0o600);
  }
  const connection = connect(path, false);
  connection.pragma('journal_mode = WAL');
  connection.pragma('synchronous = FULL');
  connection.pragma('foreign_keys = ON');
  return connection;
}

/** Opens the ledger for reading. Refuses a missing file, and a schema that is not the one of this version. */
export function openReader(path: string): LedgerReader {
  if (!existsSync(path)) {
    throw new LedgerError('ledger_missing', `there is no ledger at ${path}`, {
      hint: 'run `usage-ledger sync` or start the daemon once, or correct ledger.path in the configuration',
    });
  }
  const connection = connect(path, true);
  try {
    assertSchemaIsCurrent(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
  return { connection, close: () => connection.close() };
}

/** The version of the SQLite library inside, such as `3.53.2`. */
export function sqliteVersion(connection: LedgerConnection): string {
  return String(connection.prepare('SELECT sqlite_version()').pluck().get());
}

function connect(path: string, readonly: boolean): LedgerConnection {
  let connection: LedgerConnection;
  try {
    connection = new Database(path, { readonly, timeout: BUSY_TIMEOUT_MS });
  } catch (cause) {
    throw new LedgerError('ledger_unreadable', `cannot open the ledger ${path}: ${messageOf(cause)}`, {
      hint: 'check that the file and its folder exist and belong to the user that runs usage-ledger',
      cause,
    });
  }
  // First of all: even asking for the version reads the file.
  try {
    connection.pragma('schema_version');
  } catch (cause) {
    connection.close();
    throw new LedgerError('ledger_unreadable', `${path} is not a readable SQLite database: ${messageOf(cause)}`, {
      hint: 'check ledger.path, or restore the ledger from a backup',
      cause,
    });
  }
  const version = sqliteVersion(connection);
  if (isOlder(version, OLDEST_SAFE_SQLITE)) {
    connection.close();
    throw new LedgerError('sqlite_too_old', `SQLite ${version} can corrupt a ledger in WAL mode`, {
      hint: `reinstall better-sqlite3 with SQLite ${OLDEST_SAFE_SQLITE.join('.')} or newer`,
    });
  }
  return connection;
}

function isOlder(version: string, oldest: readonly number[]): boolean {
  const parts = version.split('.').map(Number);
  for (const [position, minimum] of oldest.entries()) {
    const part = parts[position] ?? 0;
    if (part !== minimum) return part < minimum;
  }
  return false;
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
