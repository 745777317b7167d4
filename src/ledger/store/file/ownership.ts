import type Database from 'better-sqlite3';
import { LedgerError } from '../errors.ts';
import { columnsOf, schemaObjects } from './schema-objects.ts';

/** `uled`: by this number in its header a file says that it is a ledger, as `file` and SQLite's own tools know of others. */
const APPLICATION_ID = 0x756c6564;

/** Throws `not_a_ledger` for another program's database. One without content is nobody's. */
export function requireOwnFile(connection: Database.Database, path: string): void {
  const id = idOf(connection);
  if (id === APPLICATION_ID || (id === 0 && isEmpty(connection)) || hasOwnMigrations(connection)) return;
  throw new LedgerError('not_a_ledger', `${path} is a SQLite database of another program`, {
    hint: 'set ledger.path to a file of its own; nothing was written to this one',
  });
}

/** Makes an empty database a ledger's, before it has a log, so that the file itself says so at any moment. */
export function claimFile(connection: Database.Database): void {
  if (idOf(connection) === 0 && isEmpty(connection)) connection.pragma(`application_id = ${APPLICATION_ID}`);
}

function idOf(connection: Database.Database): unknown {
  return connection.pragma('application_id', { simple: true });
}

function isEmpty(connection: Database.Database): boolean {
  return schemaObjects(connection).length === 0;
}

/** A ledger from before the first release says no number; which it is, and what to do, its migrations tell. */
function hasOwnMigrations(connection: Database.Database): boolean {
  return columnsOf(connection, 'schema_migrations').join() === 'created_at,hash,version,applied_at';
}
