import { alertRecords } from './alert-tables.ts';
import { billingRecords, closeRecords } from './billing-tables.ts';
import { deliveryRecords } from './delivery-tables.ts';
import { getTableConfig } from './drizzle.ts';
import { outletRecords } from './outlet-tables.ts';
import type { TableRecord } from './rows.ts';
import { runRecords, usageRecords } from './run-tables.ts';
import { workspaceRecords } from './workspace-tables.ts';

export const LEDGER_TABLES: readonly TableRecord[] = [
  ...[...workspaceRecords, ...runRecords, ...usageRecords, ...closeRecords],
  ...[...alertRecords, ...deliveryRecords, ...billingRecords, ...outletRecords],
];

export interface NamedColumn {
  name: string;
  kind: 'integer' | 'text' | 'blob';
  notNull: boolean;
}

export interface NamedTable {
  name: string;
  columns: readonly NamedColumn[];
  /** Columns of the primary key. */
  key: readonly string[];
}

export function namedTable({ table }: Pick<TableRecord, 'table'>): NamedTable {
  const { name, columns, primaryKeys } = getTableConfig(table);
  const own = columns.filter(({ primary }) => primary);
  return {
    name,
    columns: columns.map((column) => {
      const kind = column.getSQLType() as NamedColumn['kind'];
      return { name: column.name, kind, notNull: column.notNull };
    }),
    key: (own.length > 0 ? own : (primaryKeys[0]?.columns ?? [])).map((column) => column.name),
  };
}
