import type { GetColumnData, Table } from 'drizzle-orm';

/** A row of a table under the names that its columns have in SQL. */
export type SqlRow<T extends Table> = {
  [Key in keyof T['_']['columns'] as T['_']['columns'][Key]['_']['name']]: GetColumnData<T['_']['columns'][Key]>;
};

/** The same row as a statement with `safeIntegers` gives it: every integer a bigint. */
export type Exact<Row> = {
  [Key in keyof Row]: Exclude<Row[Key], number> | (Extract<Row[Key], number> extends never ? never : bigint);
};
