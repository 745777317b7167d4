import type { GetColumnData, Table } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';

/** A row of a table under the names that its columns have in SQL. */
export type SqlRow<T extends Table> = {
  [Key in keyof T['_']['columns'] as T['_']['columns'][Key]['_']['name']]: GetColumnData<T['_']['columns'][Key]>;
};

/** The same row as a statement with `safeIntegers` gives it: every integer a bigint. */
export type Exact<Row> = {
  [Key in keyof Row]: Exclude<Row[Key], number> | (Extract<Row[Key], number> extends never ? never : bigint);
};

/** What is said of a table beside its columns: what is made for each table is made of this. */
export interface TableRecord {
  table: SQLiteTable;
  /**
   * Set where triggers leave a mark of every change, for what can mute an alert or change an amount. `label`: what a person
   * calls the row, in SQL, with `ROW.` before each column. `except`: columns that each evaluation or sender works with.
   */
  guard?: { label: string; except?: readonly string[] };
}
