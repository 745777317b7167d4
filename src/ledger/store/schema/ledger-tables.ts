import { alertTableProperties } from './alert-tables.ts';
import { billingTableProperties, closeTableProperties } from './billing-tables.ts';
import { deliveryTableProperties } from './delivery-tables.ts';
import { getTableConfig } from './drizzle.ts';
import { outletTableProperties } from './outlet-tables.ts';
import type { TableProperties } from './rows.ts';
import { runTableProperties, usageTableProperties } from './run-tables.ts';
import { workspaceTableProperties } from './workspace-tables.ts';

export const LEDGER_TABLES: readonly TableProperties[] = [
  ...[...workspaceTableProperties, ...runTableProperties, ...usageTableProperties, ...closeTableProperties],
  ...[...alertTableProperties, ...deliveryTableProperties, ...billingTableProperties, ...outletTableProperties],
];

export interface ColumnDescription {
  name: string;
  kind: 'integer' | 'text' | 'blob';
  notNull: boolean;
}

export interface TableDescription {
  name: string;
  columns: readonly ColumnDescription[];
  /** Columns of the primary key. */
  key: readonly string[];
}

export function describeTable({ table }: Pick<TableProperties, 'table'>): TableDescription {
  const { name, columns, primaryKeys } = getTableConfig(table);
  const own = columns.filter(({ primary }) => primary);
  return {
    name,
    columns: columns.map((column) => {
      const kind = column.getSQLType() as ColumnDescription['kind'];
      return { name: column.name, kind, notNull: column.notNull };
    }),
    key: (own.length > 0 ? own : (primaryKeys[0]?.columns ?? [])).map((column) => column.name),
  };
}
