import type Database from 'better-sqlite3';
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { drizzle, getTableColumns, type Placeholder, sql } from './schema/drizzle.ts';

type Connection = Database.Database;

/** Statements of a connection that are kept by their text: preparing one again takes a tenth of a small workspace's run. */
const MOST_STATEMENTS = 500;

/**
 * The query builder over a connection, typed by the tables. Integers come from SQLite as bigints, so that none is rounded,
 * and the column says what becomes of them: `integer` a number, `int64` a bigint. In `sql` beside columns, say it by `mapWith`.
 */
export const query: (connection: Connection) => BetterSQLite3Database = perConnection((connection) => {
  const known = new Map<string, Database.Statement>();
  const prepare = (text: string): Database.Statement => {
    const statement = known.get(text) ?? connection.prepare(text).safeIntegers();
    if (known.size >= MOST_STATEMENTS) known.clear();
    known.set(text, statement);
    return statement;
  };
  const client = { prepare };
  return drizzle({ client: client as unknown as Connection });
});

/** Gives a connection's own of a query that is asked often: building one takes longer than carrying it out. */
export function prepared<P>(build: (db: BetterSQLite3Database) => { prepare(): P }): (connection: Connection) => P {
  return perConnection((connection) => build(query(connection)).prepare());
}

/** Returns what inserts whole rows into a table, for where there are many. */
export function inserter<T extends SQLiteTable>(
  table: T,
): (connection: Connection) => (row: T['$inferSelect']) => void {
  const columns = Object.keys(getTableColumns(table)) as (keyof T['$inferInsert'] & string)[];
  const insert = prepared((db) => db.insert(table).values(placeholders(columns) as T['$inferInsert']));
  return (connection) => (row) => void insert(connection).run(row);
}

/** Places of a prepared query for values that are given by these names when it is carried out. */
export function placeholders<C extends string>(columns: readonly C[]): Record<C, Placeholder> {
  const places = columns.map((column): [string, Placeholder] => [column, sql.placeholder(column)]);
  return Object.fromEntries(places) as Record<C, Placeholder>;
}

/** Makes something once for each connection, such as the queries that it prepares because they are asked often. */
export function perConnection<T>(make: (connection: Connection) => T): (connection: Connection) => T {
  const made = new WeakMap<Connection, { of: T }>();
  return (connection) => {
    const known = made.get(connection) ?? { of: make(connection) };
    made.set(connection, known);
    return known.of;
  };
}
