/**
 * The parts of drizzle in use. The build bundles them into this one file: loading all of drizzle takes Node half a
 * second and 200 MB, these parts take a hundredth of a second.
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

/** A column for a key, row count or flag, read as a `number`. The driver returns a bigint, see `query`. */
export const integer = customType<{ data: number; driverData: number | bigint }>({
  dataType: () => 'integer',
  fromDriver: Number,
});

/** A key column that SQLite fills when a row is inserted without a key. */
export const rowKey = customType<{ data: number; driverData: number | bigint; notNull: true; default: true }>({
  dataType: () => 'integer',
  fromDriver: Number,
});

/** A column for credits or request counts, read as a `bigint`: exact up to 2^63-1. */
export const int64 = customType<{ data: bigint; driverData: bigint }>({ dataType: () => 'integer' });

/**
 * The largest number of prepared statements that are kept per connection. Preparing each statement again would take a
 * tenth of the time of a small workspace's run.
 */
const MAX_CACHED_STATEMENTS = 500;

/**
 * Returns a function that prepares SQL, and prepares each text only once. The statements return integers as bigints.
 */
const statementCache = perConnection((connection) => {
  const known = new Map<string, Database.Statement>();
  return (text: string): Database.Statement => {
    const statement = known.get(text) ?? connection.prepare(text).safeIntegers();
    if (known.size >= MAX_CACHED_STATEMENTS) known.clear();
    known.set(text, statement);
    return statement;
  };
});

/**
 * Returns the query builder of a connection, typed by the tables. It reads SQLite's integers as bigints, so that none
 * is rounded; then the type of each column converts its values: `integer` to number, `int64` to bigint. Expressions in
 * `sql` have no column type and need `mapWith`.
 */
export const query: (connection: LedgerDb) => BetterSQLite3Database = perConnection((connection) => {
  const client = { prepare: statementCache(connection) };
  return drizzle({ client: client as unknown as LedgerDb });
});

/**
 * Returns a function that builds and prepares a frequent query once per connection, because building takes longer than
 * running.
 */
export function prepared<P>(build: (db: BetterSQLite3Database) => { prepare(): P }): (connection: LedgerDb) => P {
  return perConnection((connection) => build(query(connection)).prepare());
}

/**
 * Returns a function that prepares a frequent SQL statement once per connection. Rows are objects with numbers, unless
 * `shape` changes that: `pluck` returns the first column, `raw` arrays, `safeIntegers` bigints.
 */
export function preparedSql(
  text: string,
  ...shape: ('pluck' | 'raw' | 'safeIntegers')[]
): (connection: LedgerDb) => Database.Statement {
  return perConnection((connection) => shape.reduce((statement, kind) => statement[kind](), connection.prepare(text)));
}

/** Returns a function that inserts whole rows. The insert statement is prepared once per connection. */
export function inserter<T extends SQLiteTable>(table: T): (connection: LedgerDb) => (row: T['$inferSelect']) => void {
  const columns = Object.keys(getTableColumns(table)) as (keyof T['$inferInsert'] & string)[];
  const insert = prepared((db) => db.insert(table).values(placeholders(columns) as T['$inferInsert']));
  return (connection) => (row) => void insert(connection).run(row);
}

/** Returns the named placeholders of a prepared query for these columns. */
export function placeholders<C extends string>(columns: readonly C[]): Record<C, Placeholder> {
  const places = columns.map((column): [string, Placeholder] => [column, sql.placeholder(column)]);
  return Object.fromEntries(places) as Record<C, Placeholder>;
}

/**
 * Returns a function that makes a value, such as a prepared query, once for each connection and then returns the same
 * value.
 */
export function perConnection<T>(make: (connection: LedgerDb) => T): (connection: LedgerDb) => T {
  const made = new WeakMap<LedgerDb, { of: T }>();
  return (connection) => {
    const known = made.get(connection) ?? { of: make(connection) };
    made.set(connection, known);
    return known.of;
  };
}
