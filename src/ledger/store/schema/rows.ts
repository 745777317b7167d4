import type { GetColumnData, Table } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';

/** The type of a row of a table, with the SQL names of the columns as keys. */
export type SqlRow<T extends Table> = {
  [Key in keyof T['_']['columns'] as T['_']['columns'][Key]['_']['name']]: GetColumnData<T['_']['columns'][Key]>;
};

/** A row type in which every number is a bigint, as SQLite's `safeIntegers` mode returns rows. */
export type RowWithBigints<Row> = {
  [Key in keyof Row]: Exclude<Row[Key], number> | (Extract<Row[Key], number> extends never ? never : bigint);
};

/** A table and its properties besides the columns. Triggers, documentation and copies are derived from this record. */
export interface TableProperties {
  table: SQLiteTable;
  /**
   * Set on a table whose rows can mute an alert or change an amount, so that triggers record every change. `label`: SQL
   * for the name of a row shown to people, with `ROW.` before each column. `except`: columns that are not recorded,
   * because alert evaluation or delivery updates them constantly.
   */
  guard?: { label: string; except?: readonly string[] };
}
