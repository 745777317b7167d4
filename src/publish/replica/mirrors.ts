import { createRequire } from 'node:module';
import type { PgColumnBuilderBase } from 'drizzle-orm/pg-core';
import { LEDGER_TABLES, type NamedTable, namedTable } from '../../ledger/store/schema/ledger-tables.ts';

/** See ledger/store/schema/drizzle.ts for why it is not imported. */
const { bigint, customType, integer, pgTable, primaryKey }: typeof import('drizzle-orm/pg-core') = createRequire(
  import.meta.url,
)('drizzle-orm/pg-core');

/** A table of the ledger that the replica has under the same name, with `ledger_key` before its columns. */
export interface Mirror extends NamedTable {
  mirrored: (typeof LEDGER_TABLES)[number]['mirrored'];
}

/** Compared byte by byte, as SQLite compares: dates as text keep their order in every database. */
export const exactText = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });
const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

/** Every table of the ledger. */
export const MIRRORS: readonly Mirror[] = LEDGER_TABLES.map((record) => {
  return { ...namedTable(record), mirrored: record.mirrored };
});

/** The same as drizzle knows them, for comparison with what the migrations make. */
export const mirrorTables = MIRRORS.map(({ name, columns, key }) => {
  const builders: Record<string, PgColumnBuilderBase> = { ledger_key: integer().notNull() };
  for (const { name: column, kind, notNull } of columns) {
    const builder = { integer: () => bigint({ mode: 'bigint' }), text: () => exactText(), blob: () => bytes() }[kind]();
    builders[column] = notNull ? builder.notNull() : builder;
  }
  return pgTable(name, builders, (table) => {
    const [first, ...others] = ['ledger_key', ...key].map((column) => table[column]);
    if (first === undefined) throw new Error(`${name} has no key`);
    return [primaryKey({ columns: [first, ...others] as never })];
  });
});

export function mirror(name: string): Mirror {
  const found = MIRRORS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`the ledger has no table ${name}`);
  return found;
}
