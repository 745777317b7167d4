import { once } from '../../../core/one-at-a-time.ts';
import { columnsOf, schemaObjects } from '../file/schema-objects.ts';
import type { LedgerDb } from '../ledger-db.ts';
import { LEDGER_TABLES, namedTable } from './ledger-tables.ts';

/** A table that people and rules write to, beside the proven figures: its triggers leave a row change of each change. */
export interface GuardedTable {
  table: string;
  /** Its key in `row_changes` and what a person calls it, in SQL; `ROW.` stands before each column. */
  key: string;
  keyColumns: readonly string[];
  label: string;
  /** In the order in which a row's digest covers them. */
  columns: readonly string[];
}

/** Worked out for a ledger that is made, migrated or verified: no other start waits for it. */
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

/** The guarded columns of a row as one text, in SQL; `row` is `NEW`, `OLD` or the table's name. */
export function guardedText({ columns }: GuardedTable, row: string): string {
  return `json_array(${columns.map((column) => `${row}.${column}`).join(', ')})`;
}

/** An expression of a guarded table for one row: `NEW`, `OLD` or the table's name. */
export function ofRow(expression: string, row: string): string {
  return expression.replaceAll('ROW.', `${row}.`);
}

/**
 * Makes the triggers of every guarded table that the ledger has by now. Where they are new, or speak of other columns than
 * before, each row that is there gets a row change of its own.
 */
export function makeGuards(connection: LedgerDb): void {
  if (columnsOf(connection, 'row_changes').length === 0) return;
  const written = new Set(schemaObjects(connection).map(({ sql }) => sql));
  for (const declared of guardedTables()) {
    const { table, key } = declared;
    const there = columnsOf(connection, table);
    // A migration to come may bring the table, its key or other columns.
    if (!declared.keyColumns.every((column) => there.includes(column))) continue;
    const guarded = { ...declared, columns: declared.columns.filter((column) => there.includes(column)) };
    const [after, before] = [guardedText(guarded, 'NEW'), guardedText(guarded, 'OLD')];
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
      SELECT '${table}', ${ofRow(key, table)}, row_digest(${guardedText(guarded, table)}) FROM ${table}`);
  }
}
