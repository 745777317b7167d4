import pg from 'pg';
import { LEDGER_TABLES, type NamedTable, namedTable } from '../../ledger/store/schema/ledger-tables.ts';
import type { TableRecord } from '../../ledger/store/schema/rows.ts';

/** A table of the ledger that the replica has under the same name, with `ledger_key` before its columns. */
export interface Mirror extends NamedTable {
  mirrored: TableRecord['mirrored'];
}

/** Text is compared byte by byte, as SQLite compares: dates as text keep their order in every database. */
const TYPES = { integer: 'bigint', text: 'text COLLATE "C"', blob: 'bytea' } as const;

/** Every table of the ledger. */
export const MIRRORS: readonly Mirror[] = LEDGER_TABLES.map((record) => {
  return { ...namedTable(record), mirrored: record.mirrored };
});

export function mirror(name: string): Mirror {
  const found = MIRRORS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`the ledger has no table ${name}`);
  return found;
}

/** The columns as Postgres is told of them, by their names. */
export function columnsInPostgres({ columns }: Mirror): Map<string, string> {
  const typed = columns.map(
    ({ name, kind, notNull }) => [name, `${TYPES[kind]}${notNull ? ' NOT NULL' : ''}`] as const,
  );
  return new Map([['ledger_key', 'integer NOT NULL'], ...typed]);
}

/** Of the mirror's own, as SQL: Postgres may give any of these names a meaning of its own, as 16 did with `system_user`. */
export function columnNames({ columns }: Mirror): string {
  return columns.map(({ name }) => pg.escapeIdentifier(name)).join(', ');
}

export function createMirror(mirror: Mirror): string {
  const columns = [...columnsInPostgres(mirror)].map(([name, type]) => `${pg.escapeIdentifier(name)} ${type}`);
  const key = ['ledger_key', ...mirror.key].join(', ');
  return `CREATE TABLE ${mirror.name} (${columns.join(', ')}, PRIMARY KEY (${key}))`;
}
