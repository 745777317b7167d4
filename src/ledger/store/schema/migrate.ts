import { closeSync, openSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import { fileTime, isoTime } from '../../../core/clock.ts';
import { packageFile } from '../../../core/process/package-file.ts';
import { randomId } from '../../../core/randomness.ts';
import { registerRowDigest } from '../file/row-digest.ts';
import { columnsOf, listSchemaObjects } from '../file/schema-objects.ts';
import { LedgerError } from '../file/sqlite-errors.ts';
import type { LedgerDb } from '../ledger-db.ts';
import { createGuardTriggers } from './guards.ts';

const MIGRATIONS_FOLDER = packageFile('drizzle');
const VIEWS_FILE = join(MIGRATIONS_FOLDER, 'views.sql');

/** Number of pre-migration copies to keep. */
const KEPT_COPIES = 2;
const COPY_NAME = /^\d{8}T\d{6}Z-[0-9a-f]{8}$/;

export interface MigrationReport {
  /** Number of migrations that were applied; 0 when the ledger already had the current schema. */
  applied: number;
  /** Path of the copy that was made of an older ledger before the migration; null when no copy was made. */
  backup: string | null;
}

/**
 * Migrates the ledger to the schema of this version. Throws for a newer ledger, and for a ledger from before the first
 * release. A new ledger is created in one transaction. An older ledger is first copied to a file next to it, and then
 * each migration runs in its own transaction. The two newest copies of this kind are kept. Safe to run from several
 * processes at once: each migration is skipped if another process has applied it meanwhile.
 */
export function migrateLedger(
  connection: LedgerDb,
  path: string,
  version: string,
  nowMs: number,
  newLedgerId = randomId(),
): MigrationReport {
  const migrations = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER });
  refuseForeign(connection, migrations);
  const before = latestApplied(connection);
  const due = migrations.filter((migration) => migration.folderMillis > before);
  if (due.length === 0) return { applied: 0, backup: null };

  const backup = before === 0 ? null : copyBeside(connection, path, nowMs);
  registerRowDigest(connection);
  // A table rebuild under foreign_keys=ON deletes cascading children, and the pragma has no effect inside a
  // transaction: so it is off for all migrations, and the references are checked before each commit.
  connection.pragma('foreign_keys = OFF');
  let applied = 0;
  try {
    const steps = before === 0 ? [due] : due.map((migration) => [migration]);
    for (const step of steps) applied += applyMigrations(connection, step, { version, nowMs, newLedgerId });
  } finally {
    connection.pragma('foreign_keys = ON');
  }
  if (backup !== null) removeOldCopies(path, basename(backup));
  return { applied, backup };
}

/** Creates the schema of this version in an empty database, so that `verify` can compare a ledger's schema with it. */
export function migrateInMemory(connection: LedgerDb): void {
  registerRowDigest(connection);
  applyMigrations(connection, readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER }), {
    version: '',
    nowMs: 0,
    newLedgerId: randomId(),
  });
}

/** Throws unless the ledger has exactly the schema of this version. */
export function assertSchemaIsCurrent(connection: LedgerDb): void {
  const migrations = readMigrationFiles({ migrationsFolder: MIGRATIONS_FOLDER });
  refuseForeign(connection, migrations);
  if (latestApplied(connection) < latestMigration(migrations)) {
    throw new LedgerError('ledger_outdated', 'the ledger has the schema of an older version', {
      hint: 'run `usage-ledger migrate`; it keeps a copy of the old ledger',
    });
  }
}

/** Applies, in one transaction, the migrations that no other process has applied meanwhile. Returns their number. */
function applyMigrations(
  connection: LedgerDb,
  migrations: readonly MigrationMeta[],
  { version, nowMs, newLedgerId }: { version: string; nowMs: number; newLedgerId: string },
): number {
  return connection
    .transaction(() => {
      const latest = latestApplied(connection);
      const due = migrations.filter((migration) => migration.folderMillis > latest);
      if (due.length === 0) return 0;
      const added = dropViews(connection);
      for (const statement of due.flatMap(({ sql }) => sql)) connection.exec(statement);
      createGuardTriggers(connection);
      connection.exec(readFileSync(VIEWS_FILE, 'utf8'));
      for (const view of added) connection.exec(view);
      const broken = connection.pragma('foreign_key_check') as unknown[];
      if (broken.length > 0) {
        throw new LedgerError(
          'migration_failed',
          `the migration would leave ${broken.length} rows with a broken reference; nothing was changed`,
        );
      }
      connection.exec(
        'CREATE TABLE IF NOT EXISTS schema_migrations (created_at INTEGER PRIMARY KEY, hash TEXT NOT NULL, version TEXT NOT NULL, applied_at TEXT NOT NULL) STRICT',
      );
      const note = connection.prepare(
        'INSERT INTO schema_migrations (created_at, hash, version, applied_at) VALUES (?, ?, ?, ?)',
      );
      for (const { folderMillis, hash } of due) note.run(folderMillis, hash, version, isoTime(nowMs));
      connection
        .prepare("INSERT INTO ledger_meta (name, value) VALUES ('ledger_id', ?) ON CONFLICT DO NOTHING")
        .run(newLedgerId);
      return due.length;
    })
    .immediate();
}

/**
 * Drops every view, because SQLite refuses to alter a table when that would break a view. Returns the SQL of views that
 * other programs created. The ledger's own views are recreated from drizzle/views.sql.
 */
function dropViews(connection: LedgerDb): string[] {
  const views = listSchemaObjects(connection).filter(({ type }) => type === 'view');
  for (const { name } of views) connection.exec(`DROP VIEW "${name.replaceAll('"', '""')}"`);
  return views.filter(({ name }) => !name.startsWith('finance_')).map(({ sql }) => String(sql));
}

/** Throws for a ledger of a newer version, and for a ledger from before the first release. */
function refuseForeign(connection: LedgerDb, migrations: MigrationMeta[]): void {
  const latest = latestApplied(connection);
  if (latest > 0 && latest < (migrations[0]?.folderMillis ?? 0)) {
    throw new LedgerError('ledger_too_old', 'the ledger was written by a pre-release version of usage-ledger', {
      hint: 'move the file away (any SQLite client can still read it) and run `usage-ledger sync --from YYYY-MM` to read its periods from the service again; closes and alerts of the old file are not carried over',
    });
  }
  if (latest <= latestMigration(migrations)) return;
  const version = connection
    .prepare('SELECT version FROM schema_migrations ORDER BY created_at DESC LIMIT 1')
    .pluck()
    .get();
  throw new LedgerError('ledger_newer', `the ledger was written by usage-ledger ${String(version)}, which is newer`, {
    hint: `install usage-ledger ${String(version)} or later`,
  });
}

function latestApplied(connection: LedgerDb): number {
  if (columnsOf(connection, 'schema_migrations').length === 0) return 0;
  return Number(connection.prepare('SELECT coalesce(max(created_at), 0) FROM schema_migrations').pluck().get());
}

function latestMigration(migrations: MigrationMeta[]): number {
  return Math.max(0, ...migrations.map((migration) => migration.folderMillis));
}

/**
 * Deletes old pre-migration copies. Keeps the copy just made, whatever its timestamp, and the newest of the others.
 * Ignores unfinished copies, whose names end in `.part`.
 */
function removeOldCopies(path: string, made: string): void {
  const folder = dirname(path);
  const prefix = `${basename(path)}.before-migration-`;
  const copies = readdirSync(folder).filter(
    (name) => name !== made && name.startsWith(prefix) && COPY_NAME.test(name.slice(prefix.length)),
  );
  for (const name of copies.sort().slice(0, 1 - KEPT_COPIES)) rmSync(join(folder, name), { force: true });
}

function copyBeside(connection: LedgerDb, path: string, nowMs: number): string {
  // When two processes migrate at once, the later one copies a ledger that is already migrated. The unique name keeps
  // that copy from replacing the first one.
  const copy = `${path}.before-migration-${fileTime(nowMs)}-${randomId().slice(0, 8)}`;
  const unfinished = `${copy}.part`;
  // SQLite writes into an existing empty file and keeps its mode, so that no other user can read the copy at any
  // moment.
  closeSync(openSync(unfinished, 'wx', 0o600));
  connection.prepare('VACUUM INTO ?').run(unfinished);
  renameSync(unfinished, copy);
  return copy;
}
