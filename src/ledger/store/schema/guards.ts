import { once } from '../../../core/one-at-a-time.ts';
import { columnsOf, listSchemaObjects } from '../file/schema-objects.ts';
import type { LedgerDb } from '../ledger-db.ts';
import { describeTable, LEDGER_TABLES } from './ledger-tables.ts';

/**
 * A table with settings, amounts or alerts rather than usage figures. Triggers record every change to its rows in
 * `row_changes`.
 */
export interface GuardedTable {
  table: string;
  /** SQL for the row's key in `row_changes`. In `key` and `label`, `ROW.` precedes each column. */
  key: string;
  keyColumns: readonly string[];
  label: string;
  /** The columns that a row's digest covers, in the order of the digest. */
  columns: readonly string[];
}

/** Lists the guarded tables. Computed on first use, which is when a ledger is created, migrated or verified. */
export const guardedTables = once((): readonly GuardedTable[] =>
  LEDGER_TABLES.flatMap((record) => {
    if (record.guard === undefined) return [];
    const { label, except = [] } = record.guard;
    const { name, columns, key } = describeTable(record);
    const left = [...key, ...except];
    return {
      table: name,
      key: key.map((column) => `ROW.${column}`).join(" || ':' || "),
      keyColumns: key,
      label,
      columns: columns.map((column) => column.name).filter((column) => !left.includes(column)),
    };
  }),
);

/** Returns SQL for the guarded columns of a row as one text; `row` is `NEW`, `OLD` or the table's name. */
export function guardedColumnsSql({ columns }: GuardedTable, row: string): string {
  return `json_array(${columns.map((column) => `${row}.${column}`).join(', ')})`;
}

/** Replaces `ROW.` in a guarded table's SQL with a row: `NEW`, `OLD` or the table's name. */
export function bindToRow(expression: string, row: string): string {
  return expression.replaceAll('ROW.', `${row}.`);
}

/**
 * Creates the triggers of every guarded table that exists in the ledger. When a trigger is new, or covers other columns
 * than before, records a row change for each existing row of its table.
 */
export function createGuardTriggers(connection: LedgerDb): void {
  if (columnsOf(connection, 'row_changes').length === 0) return;
  const written = new Set(listSchemaObjects(connection).map(({ sql }) => sql));
  for (const declared of guardedTables()) {
    const { table, key } = declared;
    const there = columnsOf(connection, table);
    // The table or its key column does not exist yet: a later migration adds it.
    if (!declared.keyColumns.every((column) => there.includes(column))) continue;
    const guarded = { ...declared, columns: declared.columns.filter((column) => there.includes(column)) };
    const [after, before] = [guardedColumnsSql(guarded, 'NEW'), guardedColumnsSql(guarded, 'OLD')];
    const mark = (row: string, digest: string): string => ` BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('${table}', ${bindToRow(key, row)}, ${digest});
END`;
    const triggers = {
      insert: `AFTER INSERT ON ${table}${mark('NEW', `row_digest(${after})`)}`,
      update: `AFTER UPDATE OF ${guarded.columns.join(', ')} ON ${table}
WHEN ${before}
  <> ${after}${mark('NEW', `row_digest(${after})`)}`,
      delete: `AFTER DELETE ON ${table}${mark('OLD', 'NULL')}`,
    };
    const made = Object.entries(triggers).map(([change, rest]) => {
      const name = `${table}_guard_${change}`;
      const sql = `CREATE TRIGGER ${name} ${rest}`;
      if (written.has(sql)) return false;
      connection.exec(`DROP TRIGGER IF EXISTS ${name}; ${sql}`);
      return true;
    });
    if (!made.includes(true)) continue;
    connection.exec(`INSERT INTO row_changes (table_name, row_key, row_digest)
      SELECT '${table}', ${bindToRow(key, table)}, row_digest(${guardedColumnsSql(guarded, table)}) FROM ${table}`);
  }
}
