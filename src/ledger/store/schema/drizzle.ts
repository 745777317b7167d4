import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * Drizzle's words for tables, required instead of imported: its modules refer to one another in circles, which takes
 * Node's `import` a second and 200 MB, and `require` a tenth of a second and 10 MB.
 */
export const {
  blob,
  customType,
  getTableConfig,
  index,
  primaryKey,
  sqliteTable,
  sqliteView,
  text,
  uniqueIndex,
}: typeof import('drizzle-orm/sqlite-core') = require('drizzle-orm/sqlite-core');

export type { SQL } from 'drizzle-orm';
export type { SQLiteColumn } from 'drizzle-orm/sqlite-core';

export const {
  and,
  asc,
  count,
  desc,
  eq,
  exists,
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
  not,
  notExists,
  notInArray,
  notLike,
  or,
  sql,
}: typeof import('drizzle-orm') = require('drizzle-orm');

export const { drizzle }: typeof import('drizzle-orm/better-sqlite3') = require('drizzle-orm/better-sqlite3');

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
