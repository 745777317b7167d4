import type { GetColumnData, Table } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';

/** A row of a table, keyed by its SQL column names. */
export type SqlRow<T extends Table> = {
  [Key in keyof T['_']['columns'] as T['_']['columns'][Key]['_']['name']]: GetColumnData<T['_']['columns'][Key]>;
};

/** The same row as read with `safeIntegers`: every integer a bigint. */
export type Exact<Row> = {
  [Key in keyof Row]: Exclude<Row[Key], number> | (Extract<Row[Key], number> extends never ? never : bigint);
};

/** A table and its properties beyond the columns; guards, documentation and copies are derived from it. */
export interface TableProperties {
  table: SQLiteTable;
  /**
   * Set on a table with rows that can mute an alert or change an amount: triggers record every change. `label`: SQL for the
   * name of a row shown to people, with `ROW.` before each column. `except`: columns that evaluations or senders update
   * constantly.
   */
  guard?: { label: string; except?: readonly string[] };
}
