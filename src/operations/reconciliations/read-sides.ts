import type { StatementDocument } from '../../billing/statement/document.ts';
import type { Config } from '../../config/types.ts';
import { UsageError } from '../../core/errors.ts';
import type { Period } from '../../core/period.ts';
import type { Table, TableRow } from '../../input-files/table.ts';
import { readStatement } from '../../ledger/journal/charges/read-statement.ts';
import { tenantReferences } from '../../ledger/store/tenant-names.ts';
import type { Scope } from '../operation.ts';
import { chooseWorkspace, unknownPeriod } from '../workspace-choice.ts';
import { type CurrencyOptions, comparedCurrencies, currencyOf } from './currencies.ts';
import { Customers, type InvoiceLine, type ReconciledRow, readInvoices, similarTenantHints } from './sides.ts';

/** The two sides that are compared for a workspace: the ledger's statement and the invoices of its tenants. */
export interface ReconciliationSides {
  statement: StatementDocument;
  customers: Customers;
  invoices: InvoiceLine[];
  currencies: (string | null)[];
  /** Hints about tenants in the file whose text differs from a tenant of the ledger only in case or space. */
  hints: string[];
}

/** The statement and invoices of a workspace, with the result of comparing them. */
export interface ReconciledWorkspace extends ReconciliationSides {
  tenants: ReconciledRow[];
}

/**
 * Groups the rows of a file by workspace. If the file has no workspace column, all rows belong to the chosen workspace.
 */
export function groupByWorkspace(
  config: Config,
  { rows, place }: Table,
  { workspace, workspaceColumn }: { workspace: string | undefined; workspaceColumn: string | undefined },
): [id: string, rows: TableRow[]][] {
  if (workspaceColumn === undefined) return [[chooseWorkspace(config, workspace).id, rows]];
  const ids = config.workspaces.map(({ id }) => id);
  const byId = Map.groupBy(rows, ({ record }) => (record[workspaceColumn] ?? '').trim());
  const [unknown] = [...byId].find(([id]) => !ids.includes(id))?.[1] ?? [];
  if (unknown !== undefined) {
    const value = JSON.stringify(unknown.record[workspaceColumn]);
    const message = `${place(unknown, workspaceColumn)}: ${value} is not a configured workspace`;
    throw new UsageError(message, `use one of ${ids.join(', ')}`);
  }
  const chosen = workspace === undefined ? ids : [chooseWorkspace(config, workspace).id];
  return chosen.map((id) => [id, byId.get(id) ?? []]);
}

interface SidesRequest {
  id: string;
  period: Period;
  table: Table;
  columns: CurrencyOptions;
}

/**
 * Reads the statement and invoices of a workspace. Returns null if the workspace has neither usage in the month nor
 * invoices.
 */
export function readSides(
  { context, connection }: Scope,
  { id, period, table, columns }: SidesRequest,
): ReconciliationSides | null {
  const request = { workspaceId: id, period, nowMs: context.clock.now(), proven: false };
  const statement = connection.transaction(() => readStatement(connection, request))();
  if (statement === null && (table.rows.length === 0 || columns.workspaceColumn === undefined)) return null;
  if (statement === null) throw unknownPeriod(period, id);
  const texts = table.rows.map(({ record }) => record[columns.tenantColumn] ?? '');
  const customers = new Customers(statement, tenantReferences(connection, id), texts);
  const only = currencyOf(statement, columns);
  const invoices = readInvoices(table, columns, { customers, currency: only });
  const currencies = comparedCurrencies(statement, invoices, { only, options: columns });
  const hints = similarTenantHints(table, columns.tenantColumn, customers);
  return { statement, customers, invoices, currencies, hints };
}
