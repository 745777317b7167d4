import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { messageOf, systemFault } from '../../../core/errors.ts';
import type { LedgerDb } from '../ledger-db.ts';
import { assertSchemaIsCurrent } from '../schema/migrate.ts';
import { refuseDanglingLink, requireLedgerPath, shareWithGroup } from './ledger-path.ts';
import { registerRowDigest } from './row-digest.ts';
import { columnsOf, listSchemaObjects } from './schema-objects.ts';
import { LedgerError, toLedgerError } from './sqlite-errors.ts';

// cspell:ignore uled

/**
 * The oldest accepted version of SQLite. Older versions can corrupt a WAL database when a checkpoint resets the log
 * during a write.
 */
const OLDEST_SAFE_SQLITE = [3, 51, 3] as const;
const BUSY_TIMEOUT_MS = 5000;
const WAL_RETRY_MS = 20;

/** A read-only connection to the ledger, in which times and periods are text. */
export interface LedgerReader {
  readonly connection: LedgerDb;
  close(): void;
}

/**
 * Opens the ledger for writing: creates the file (0600, its folder 0700) when it is missing, and sets WAL,
 * `synchronous=FULL`, foreign keys and the busy timeout. Does not migrate. Members of `readerGroup` may read file
 * (0640) and folder (2750). Throws the errors of `requireLedgerPath`, and `not_a_ledger` for another program's database.
 */
export function openForWriting(path: string, readerGroup?: string): LedgerDb {
  prepareLedgerFolder(path, readerGroup);
  if (!existsSync(path)) {
    closeSync(openSync(path, 'a', 0o600));
    chmodSync(path, 0o600);
  }
  if (readerGroup !== undefined) shareWithGroup(path, readerGroup);
  const connection = connect(path, false);
  initializeFile(connection);
  connection.pragma('synchronous = FULL');
  connection.pragma('foreign_keys = ON');
  registerRowDigest(connection);
  return connection;
}

/**
 * Creates the ledger's folder. Throws the errors of `requireLedgerPath`, and `not_a_ledger` for another program's
 * database.
 */
export function prepareLedgerFolder(path: string, readerGroup?: string): void {
  requireLedgerPath(path, readerGroup);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (existsSync(path)) refuseOtherProgram(path);
}

/**
 * Throws `not_a_ledger` for another program's database. Uses a read-only connection: closing a last connection that is
 * writable would merge the other program's write-ahead log into its database.
 */
export function refuseOtherProgram(path: string): void {
  try {
    connect(path, true).close();
  } catch (error) {
    // Other errors are ignored here. A writable connection may not have them, because it can roll back the journal that
    // a crash left behind.
    if (error instanceof LedgerError && error.code === 'not_a_ledger') throw error;
  }
}

/**
 * Marks a fresh file as a ledger and switches it to WAL mode. SQLite does not wait while another process switches the
 * same file, but fails at once with "locked": so this function retries.
 */
function initializeFile(connection: LedgerDb): void {
  for (let attempt = 1; ; attempt += 1) {
    try {
      claimFile(connection);
      connection.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      const isBusy = error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
      if (!isBusy || attempt * WAL_RETRY_MS >= BUSY_TIMEOUT_MS) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAL_RETRY_MS);
    }
  }
}

/**
 * Closes a connection of `openForWriting` and leaves an empty -wal and the -shm file next to the ledger. A user who has
 * only read permission needs both files to open a ledger in WAL mode, and cannot create them. SQLite deletes both files
 * if the last connection to be closed is writable, so a read-only connection is closed last.
 */
export function closeForWriting(connection: LedgerDb): void {
  let last: LedgerDb | undefined;
  try {
    truncateLog(connection);
    last = new Database(connection.name, { readonly: true });
    last.pragma('schema_version');
  } catch {
    // If the disk is full or the file was moved, the log stays as it is; the next process that opens the ledger reports
    // the problem.
  }
  connection.close();
  last?.close();
}

const MISSING_REMEDY = 'run `usage-ledger sync` or start the daemon once, or correct ledger.path in the configuration';

/** Opens the ledger for reading. Throws for a missing file, and for a schema of another version. */
export function openReader(path: string, missingRemedy = MISSING_REMEDY): LedgerReader {
  refuseDanglingLink(path);
  if (!existsSync(path)) {
    throw new LedgerError('ledger_missing', `there is no ledger at ${path}`, { hint: missingRemedy });
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

export function sqliteVersion(connection: LedgerDb): string {
  return String(connection.prepare('SELECT sqlite_version()').pluck().get());
}

function connect(path: string, readonly: boolean): LedgerDb {
  let connection: LedgerDb;
  try {
    connection = new Database(path, { readonly, timeout: BUSY_TIMEOUT_MS });
  } catch (cause) {
    // SQLite's native module did not load, so the ledger file is not the cause.
    const fault = systemFault(cause);
    if (fault?.code === 'native_module') throw fault;
    throw new LedgerError('ledger_unreadable', `cannot open the ledger ${path}: ${messageOf(cause)}`, {
      hint: 'check that the file and its folder exist and belong to the user that runs usage-ledger',
      cause,
    });
  }
  // The file is checked before the version of SQLite, because the query for the version reads the file.
  try {
    connection.pragma('schema_version');
    requireLedgerDatabase(connection, path);
  } catch (cause) {
    connection.close();
    if (cause instanceof LedgerError) throw cause;
    const { hint, retryable = false } = toLedgerError(cause) ?? {};
    const message = `the ledger ${path} cannot be read: ${messageOf(cause)}`;
    throw new LedgerError('ledger_unreadable', message, { hint, retryable, cause });
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

/** `uled`: the application id in the header of a ledger file, which `file` and SQLite's own tools show. */
const APPLICATION_ID = 0x756c6564;

/** Throws `not_a_ledger` for another program's database; an empty database is accepted. */
function requireLedgerDatabase(connection: LedgerDb, path: string): void {
  const id = applicationId(connection);
  if (id === APPLICATION_ID || (id === 0 && isEmpty(connection)) || hasOwnMigrations(connection)) return;
  throw new LedgerError('not_a_ledger', `${path} is a SQLite database of another program`, {
    hint: 'set ledger.path to another file; nothing was written to this one',
  });
}

/**
 * Marks an empty database as a ledger. Runs before the write-ahead log exists, so that the mark is in the database file
 * itself.
 */
function claimFile(connection: LedgerDb): void {
  if (applicationId(connection) === 0 && isEmpty(connection)) connection.pragma(`application_id = ${APPLICATION_ID}`);
}

function applicationId(connection: LedgerDb): unknown {
  return connection.pragma('application_id', { simple: true });
}

function isEmpty(connection: LedgerDb): boolean {
  return listSchemaObjects(connection).length === 0;
}

/**
 * Reports whether the database has a ledger's migrations table. Ledgers from before the first release have no
 * application id.
 */
function hasOwnMigrations(connection: LedgerDb): boolean {
  return columnsOf(connection, 'schema_migrations').join() === 'created_at,hash,version,applied_at';
}

/**
 * Writes the write-ahead log back into the ledger and truncates the log. Returns false when a reader still needs the
 * log: this function does not wait for readers, because the connection has other work.
 */
export function truncateLog(connection: LedgerDb): boolean {
  const timeoutMs = connection.pragma('busy_timeout', { simple: true }) as number;
  connection.pragma('busy_timeout = 0');
  try {
    const [result] = connection.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    return result?.busy === 0;
  } finally {
    connection.pragma(`busy_timeout = ${timeoutMs}`);
  }
}
