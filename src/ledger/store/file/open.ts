import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { messageOf, systemFault } from '../../../core/errors.ts';
import type { LedgerDb } from '../ledger-db.ts';
import { assertSchemaIsCurrent } from '../schema/migrate.ts';
import { refuseDanglingLink, requireLedgerPlace, shareWithGroup } from './place.ts';
import { addRowDigest } from './row-digest.ts';
import { columnsOf, schemaObjects } from './schema-objects.ts';
import { LedgerError, ledgerErrorOf } from './sqlite-errors.ts';

/** SQLite before this can corrupt a WAL database when a checkpoint resets the log under a writer. */
const OLDEST_SAFE_SQLITE = [3, 51, 3] as const;
const BUSY_TIMEOUT_MS = 5000;
const WAL_PAUSE_MS = 20;

/** A connection that only reads. Times and periods are text, see the views. */
export interface LedgerReader {
  readonly connection: LedgerDb;
  close(): void;
}

/**
 * Opens the ledger for writing: creates the file (0600, its folder 0700) when it is missing, and sets WAL,
 * `synchronous=FULL`, foreign keys and the busy timeout. Does not migrate. Refuses what `requireLedgerPlace` does, and, with
 * `not_a_ledger`, another program's database. A `readerGroup` may read file (0640) and folder (2750).
 */
export function openForWriting(path: string, readerGroup?: string): LedgerDb {
  preparePlace(path, readerGroup);
  if (!existsSync(path)) {
    closeSync(openSync(path, 'a', 0o600));
    chmodSync(path, 0o600);
  }
  if (readerGroup !== undefined) shareWithGroup(path, readerGroup);
  const connection = connect(path, false);
  makeOurs(connection);
  connection.pragma('synchronous = FULL');
  connection.pragma('foreign_keys = ON');
  addRowDigest(connection);
  return connection;
}

/** Makes the ledger's folder. Refuses what `requireLedgerPlace` does, and, with `not_a_ledger`, another program's database. */
export function preparePlace(path: string, readerGroup?: string): void {
  requireLedgerPlace(path, readerGroup);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  if (existsSync(path)) refuseOtherProgram(path);
}

/**
 * Refuses another program's database before anything is written to it: the last connection that may write brings what is in
 * a log into its database, whoever's that is.
 */
export function refuseOtherProgram(path: string): void {
  try {
    connect(path, true).close();
  } catch (error) {
    // A journal of a crash, for example, is played back only by who may write.
    if (error instanceof LedgerError && error.code === 'not_a_ledger') throw error;
  }
}

/**
 * Marks a fresh file, and has it in WAL mode. SQLite does not wait for another one that turns the same fresh file to WAL:
 * it says at once that the file is locked.
 */
function makeOurs(connection: LedgerDb): void {
  for (let attempt = 1; ; attempt += 1) {
    try {
      claimFile(connection);
      connection.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      const isBusy = error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
      if (!isBusy || attempt * WAL_PAUSE_MS >= BUSY_TIMEOUT_MS) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, WAL_PAUSE_MS);
    }
  }
}

/**
 * Closes a connection of `openForWriting` and leaves an empty -wal and the -shm beside the ledger. SQLite would delete both
 * with the last connection that may write, and then nobody can open the ledger who may only read it: to read a ledger in
 * WAL mode takes the two files, or the right to make them. The last connection to close is one that only reads.
 */
export function closeForWriting(connection: LedgerDb): void {
  let last: LedgerDb | undefined;
  try {
    truncateLog(connection);
    last = new Database(connection.name, { readonly: true });
    last.pragma('schema_version');
  } catch {
    // A full disk, a file that was moved: what is in the log stays in it, and the next who opens the ledger says so.
  }
  connection.close();
  last?.close();
}

const MISSING_REMEDY = 'run `usage-ledger sync` or start the daemon once, or correct ledger.path in the configuration';

/** Opens the ledger for reading. Refuses a missing file, and a schema that is not the one of this version. */
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
    // SQLite's own module did not load: the file is not the fault.
    const fault = systemFault(cause);
    if (fault?.code === 'native_module') throw fault;
    throw new LedgerError('ledger_unreadable', `cannot open the ledger ${path}: ${messageOf(cause)}`, {
      hint: 'check that the file and its folder exist and belong to the user that runs usage-ledger',
      cause,
    });
  }
  // First of all: even asking for the version reads the file.
  try {
    connection.pragma('schema_version');
    requireOwnFile(connection, path);
  } catch (cause) {
    connection.close();
    if (cause instanceof LedgerError) throw cause;
    const { hint, retryable = false } = ledgerErrorOf(cause) ?? {};
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

/** `uled`: by this number in its header a file says that it is a ledger, as `file` and SQLite's own tools know of others. */
const APPLICATION_ID = 0x756c6564;

/** Throws `not_a_ledger` for another program's database. One without content is nobody's. */
function requireOwnFile(connection: LedgerDb, path: string): void {
  const id = idOf(connection);
  if (id === APPLICATION_ID || (id === 0 && isEmpty(connection)) || hasOwnMigrations(connection)) return;
  throw new LedgerError('not_a_ledger', `${path} is a SQLite database of another program`, {
    hint: 'set ledger.path to a file of its own; nothing was written to this one',
  });
}

/** Makes an empty database a ledger's, before it has a log, so that the file itself says so at any moment. */
function claimFile(connection: LedgerDb): void {
  if (idOf(connection) === 0 && isEmpty(connection)) connection.pragma(`application_id = ${APPLICATION_ID}`);
}

function idOf(connection: LedgerDb): unknown {
  return connection.pragma('application_id', { simple: true });
}

function isEmpty(connection: LedgerDb): boolean {
  return schemaObjects(connection).length === 0;
}

/** A ledger from before the first release says no number; which it is, and what to do, its migrations tell. */
function hasOwnMigrations(connection: LedgerDb): boolean {
  return columnsOf(connection, 'schema_migrations').join() === 'created_at,hash,version,applied_at';
}

/**
 * Writes the write-ahead log back into the ledger and cuts it to nothing; false when a reader still needs it. Waits for
 * nobody: this connection has other things to do.
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
