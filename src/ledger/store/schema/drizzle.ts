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
  integer,
  primaryKey,
  sqliteTable,
  sqliteView,
  text,
  uniqueIndex,
}: typeof import('drizzle-orm/sqlite-core') = require('drizzle-orm/sqlite-core');

export const { sql }: typeof import('drizzle-orm') = require('drizzle-orm');

/** Credits and counts of requests: exact up to 2^63-1, so a `bigint`, never a `number`. Read with `safeIntegers`. */
export const int64 = customType<{ data: bigint; driverData: bigint }>({ dataType: () => 'integer' });
