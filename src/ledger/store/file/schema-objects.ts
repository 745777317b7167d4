import type { LedgerDb } from '../ledger-db.ts';

/** A table, index, view or trigger, with the SQL that created it. */
export interface SchemaObject {
  type: string;
  name: string;
  /** The SQL that created the object; null for an index that SQLite created by itself. */
  sql: string | null;
}

/** Lists the objects of a database in creation order, without SQLite's own tables. */
export function listSchemaObjects(connection: LedgerDb): SchemaObject[] {
  return connection
    .prepare(`SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid`)
    .all() as SchemaObject[];
}

/**
 * Reports whether a database contains the tables of a ledger. An empty database does not, and must be recognized: after
 * a migration it would pass every check.
 */
export function holdsLedger(connection: LedgerDb): boolean {
  const names = new Set(listSchemaObjects(connection).map(({ name }) => name));
  return ['schema_migrations', 'ledger_meta', 'runs'].every((name) => names.has(name));
}

/** Lists the column names of a table or view; empty when the database has no such table or view. */
export function columnsOf(connection: LedgerDb, name: string): string[] {
  return (connection.pragma(`table_info(${name})`) as { name: string }[]).map((column) => column.name);
}

export function countRows(connection: LedgerDb, from: string): number {
  return connection.prepare(`SELECT count(*) FROM ${from}`).pluck().get() as number;
}
