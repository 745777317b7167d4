/**
 * Drizzle's words for tables and queries. The build bundles them into this one file: all of drizzle's modules together
 * take Node half a second and 200 MB to load, these a hundredth of a second.
 */
import { customType } from 'drizzle-orm/sqlite-core';

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
