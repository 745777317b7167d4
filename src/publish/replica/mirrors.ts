import { createRequire } from 'node:module';
import type { PgColumnBuilderBase } from 'drizzle-orm/pg-core';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { alertFeedback, alerts, alertTransitions, silences } from '../../ledger/store/schema/alert-tables.ts';
import {
  chargeCorrections,
  chargeLines,
  charges,
  closeCommitments,
  rateCards,
  tenantNames,
} from '../../ledger/store/schema/billing-tables.ts';
import { adjustments, closedUsage, periodEvents } from '../../ledger/store/schema/close-tables.ts';
import { getTableConfig } from '../../ledger/store/schema/drizzle.ts';
import { channelStates, outbox } from '../../ledger/store/schema/outbox-tables.ts';
import { leases, rowChanges, runs, walks } from '../../ledger/store/schema/run-tables.ts';
import { absences, tenantUsage, usageEntries } from '../../ledger/store/schema/usage-tables.ts';
import {
  ledgerMeta,
  movedLinks,
  periods,
  tenants,
  workspaceMoves,
  workspaces,
} from '../../ledger/store/schema/workspace-tables.ts';

/** See ledger/store/schema/drizzle.ts for why it is not imported. */
const { bigint, customType, integer, pgTable, primaryKey }: typeof import('drizzle-orm/pg-core') = createRequire(
  import.meta.url,
)('drizzle-orm/pg-core');

export type ColumnKind = 'integer' | 'text' | 'blob';

/** A table of the ledger that the replica has under the same name, with `ledger_key` before its columns. */
export interface Mirror {
  name: string;
  columns: readonly { name: string; kind: ColumnKind; notNull: boolean }[];
  /** The columns of its primary key, without `ledger_key`. */
  key: readonly string[];
}

/** Compared byte by byte, as SQLite compares: dates as text keep their order in every database. */
export const exactText = customType<{ data: string }>({ dataType: () => 'text COLLATE "C"' });
const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' });

const MIRRORED: readonly SQLiteTable[] = [
  ...[ledgerMeta, workspaces, tenants, periods, runs, walks, leases, rowChanges],
  ...[usageEntries, tenantUsage, absences, periodEvents, closedUsage, closeCommitments, adjustments],
  ...[alerts, alertTransitions, alertFeedback, silences, outbox, channelStates],
  ...[tenantNames, rateCards, charges, chargeLines, chargeCorrections],
  ...[workspaceMoves, movedLinks],
];

/** Every table of the ledger, parents first. */
export const MIRRORS: readonly Mirror[] = MIRRORED.map(mirrorOf);

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

function mirrorOf(table: SQLiteTable): Mirror {
  const { name, columns, primaryKeys } = getTableConfig(table);
  const own = columns.filter(({ primary }) => primary).map((column) => column.name);
  return {
    name,
    columns: columns.map((column) => {
      const kind = column.getSQLType() as ColumnKind;
      return { name: column.name, kind, notNull: column.notNull };
    }),
    key: own.length > 0 ? own : (primaryKeys[0]?.columns ?? []).map((column) => column.name),
  };
}
