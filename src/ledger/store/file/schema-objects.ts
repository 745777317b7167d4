import type { LedgerDb } from '../ledger-db.ts';

/** A table, index, view or trigger, with the text that made it. */
export interface SchemaObject {
  type: string;
  name: string;
  /** Null for an index that SQLite made by itself. */
  sql: string | null;
}

/** What a database is made of, in the order in which it was made, without SQLite's own tables. */
export function schemaObjects(connection: LedgerDb): SchemaObject[] {
  return connection
    .prepare(`SELECT type, name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid`)
    .all() as SchemaObject[];
}

/** Whether a file holds a ledger. An empty one is a database without tables: migrated, it would pass every check. */
export function holdsLedger(connection: LedgerDb): boolean {
  const names = new Set(schemaObjects(connection).map(({ name }) => name));
  return ['schema_migrations', 'ledger_meta', 'runs'].every((name) => names.has(name));
}

/** The columns of a table or view; none where there is no such. */
export function columnsOf(connection: LedgerDb, name: string): string[] {
  return (connection.pragma(`table_info(${name})`) as { name: string }[]).map((column) => column.name);
}

export function countRows(connection: LedgerDb, from: string): number {
  return connection.prepare(`SELECT count(*) FROM ${from}`).pluck().get() as number;
}
