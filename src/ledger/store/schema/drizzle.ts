/**
 * Drizzle's words for tables and queries. The build bundles them into this one file: all of drizzle's modules together
 * take Node half a second and 200 MB to load, these a hundredth of a second.
 */

import type Database from 'better-sqlite3';
import { getTableColumns, type Placeholder, sql } from 'drizzle-orm';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import { customType, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { LedgerDb } from '../ledger-db.ts';

export {
  and,
  asc,
  count,
  desc,
  eq,
  getTableColumns,
  gt,
  gte,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  max,
  min,
  ne,
  notInArray,
  or,
  type Placeholder,
  type SQL,
  sql,
} from 'drizzle-orm';
export { drizzle } from 'drizzle-orm/better-sqlite3';
export {
  blob,
  getTableConfig,
  index,
  primaryKey,
  type SQLiteColumn,
  sqliteTable,
  sqliteView,
  text,
  uniqueIndex,
} from 'drizzle-orm/sqlite-core';

/** Keys, counts of rows and flags: a `number`. The driver gives a bigint, see `query`. */
export const integer = customType<{ data: number; driverData: number | bigint }>({
  dataType: () => 'integer',
  fromDriver: Number,
});

/** A key that SQLite gives to a row which is inserted without one. */
export const rowKey = customType<{ data: number; driverData: number | bigint; notNull: true; default: true }>({
  dataType: () => 'integer',
  fromDriver: Number,
});

/** Credits and counts of requests: exact up to 2^63-1, so a `bigint`, never a `number`. */
export const int64 = customType<{ data: bigint; driverData: bigint }>({ dataType: () => 'integer' });

/** Statements of a connection that are kept by their text: preparing one again takes a tenth of a small workspace's run. */
const MOST_STATEMENTS = 500;

/** Returns what prepares the query builder's SQL, once for each text; its integers come as bigints. */
const statements = perConnection((connection) => {
  const known = new Map<string, Database.Statement>();
  return (text: string): Database.Statement => {
    const statement = known.get(text) ?? connection.prepare(text).safeIntegers();
    if (known.size >= MOST_STATEMENTS) known.clear();
    known.set(text, statement);
    return statement;
  };
});

/**
 * The query builder over a connection, typed by the tables. Integers come from SQLite as bigints, so that none is rounded,
 * and the column says what becomes of them: `integer` a number, `int64` a bigint. In `sql` beside columns, say it by `mapWith`.
 */
export const query: (connection: LedgerDb) => BetterSQLite3Database = perConnection((connection) => {
  const client = { prepare: statements(connection) };
  return drizzle({ client: client as unknown as LedgerDb });
});

/** Gives a connection's own of a query that is asked often: building one takes longer than carrying it out. */
export function prepared<P>(build: (db: BetterSQLite3Database) => { prepare(): P }): (connection: LedgerDb) => P {
  return perConnection((connection) => build(query(connection)).prepare());
}

/**
 * Gives a connection's own statement of SQL that is run often. Its rows are objects with numbers, unless `shape` says otherwise:
 * `pluck` for the first column alone, `raw` for arrays, `safeIntegers` for bigints.
 */
export function preparedSql(
  text: string,
  ...shape: ('pluck' | 'raw' | 'safeIntegers')[]
): (connection: LedgerDb) => Database.Statement {
  return perConnection((connection) => shape.reduce((statement, kind) => statement[kind](), connection.prepare(text)));
}

/** Returns what inserts whole rows into a table, for where there are many. */
export function inserter<T extends SQLiteTable>(table: T): (connection: LedgerDb) => (row: T['$inferSelect']) => void {
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
export function perConnection<T>(make: (connection: LedgerDb) => T): (connection: LedgerDb) => T {
  const made = new WeakMap<LedgerDb, { of: T }>();
  return (connection) => {
    const known = made.get(connection) ?? { of: make(connection) };
    made.set(connection, known);
    return known.of;
  };
}
