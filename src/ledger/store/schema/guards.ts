import { once } from '../../../core/one-at-a-time.ts';
import { columnsOf, schemaObjects } from '../file/schema-objects.ts';
import type { LedgerDb } from '../ledger-db.ts';
import { LEDGER_TABLES, namedTable } from './ledger-tables.ts';

/**
 * A table that people and rules write to, apart from the verified figures. Its triggers record every change in
 * `row_changes`.
 */
export interface GuardedTable {
  table: string;
  /** SQL for the row's key in `row_changes` and for the name shown to people; `ROW.` precedes each column. */
  key: string;
  keyColumns: readonly string[];
  label: string;
  /** In the order in which a row's digest covers them. */
  columns: readonly string[];
}

/** Computed only when a ledger is created, migrated or verified, so that no other start pays for it. */
export const guardedTables = once((): readonly GuardedTable[] =>
  LEDGER_TABLES.flatMap((record) => {
    if (record.guard === undefined) return [];
    const { label, except = [] } = record.guard;
    const { name, columns, key } = namedTable(record);
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

/** Binds a guarded table's expression to one row: `NEW`, `OLD` or the table's name. */
export function ofRow(expression: string, row: string): string {
  return expression.replaceAll('ROW.', `${row}.`);
}

/**
 * Creates the triggers of every guarded table that the ledger has so far. When a trigger is new or covers other columns
 * than before, each existing row gets a row change.
 */
export function makeGuards(connection: LedgerDb): void {
  if (columnsOf(connection, 'row_changes').length === 0) return;
  const written = new Set(schemaObjects(connection).map(({ sql }) => sql));
  for (const declared of guardedTables()) {
    const { table, key } = declared;
    const there = columnsOf(connection, table);
    // A later migration may add the table, its key or other columns.
    if (!declared.keyColumns.every((column) => there.includes(column))) continue;
    const guarded = { ...declared, columns: declared.columns.filter((column) => there.includes(column)) };
    const [after, before] = [guardedColumnsSql(guarded, 'NEW'), guardedColumnsSql(guarded, 'OLD')];
    const mark = (row: string, digest: string): string => ` BEGIN
  INSERT INTO row_changes (table_name, row_key, row_digest)
  VALUES ('${table}', ${ofRow(key, row)}, ${digest});
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
      SELECT '${table}', ${ofRow(key, table)}, row_digest(${guardedColumnsSql(guarded, table)}) FROM ${table}`);
  }
}
