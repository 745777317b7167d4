import { UsageError } from '../../core/errors.ts';
import type { Period, PeriodWindow } from '../../core/period.ts';
import { columnsOf, schemaObjects } from '../../ledger/store/file/schema-objects.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { whereClause } from '../../ledger/store/where.ts';
import type { ColumnKind, Sheet, SheetColumn, SheetValue } from '../formats/columns.ts';

/** What the columns of the `finance_*` views hold by their names, under whatever view they stand; all others are text. */
const VIEW_COLUMN_KINDS: readonly [RegExp, ColumnKind][] = [
  [/^(alert|run|tenant|workspace)_id$|(^|_)digest$|^external_ref$/, 'id'],
  [/(^|_)credits(_|$)|^(projection|threshold)$/, 'credits'],
  [/(^|_)requests?(_|$)|_minor$|^(attempts|entries|pages|priority|records|tenants|tier|revision|told_times)$/, 'count'],
  [/^(currency_digits|entry_id|event_seq|line_id|line_number|matched|missing|extra|different)$/, 'count'],
  [/^(amount|revenue|cost|margin)$/, 'amount'],
  [/^unit_price$/, 'price'],
  [/_percent$|^(amount|margin)_value$/, 'double'],
  [/^day$/, 'day'],
  [/(^|_)at$|^(as_of|period_start|period_end|slot)$/, 'date'],
  [/^(close_forced|complete|forced|in_force|withdrawn)$/, 'flag'],
];

export function viewColumnKind(name: string): ColumnKind {
  return VIEW_COLUMN_KINDS.find(([names]) => names.test(name))?.[1] ?? 'text';
}

/** What a workbook adds up, where rows are of one kind and none stands in another. */
const SUMS: Readonly<Record<string, readonly string[]>> = {
  finance_usage: ['credits_used', 'request_count'],
  finance_period_totals: ['credits_used', 'request_count'],
  finance_adjustments: ['credits_delta', 'requests_delta'],
  finance_charges: ['amount'],
  finance_charge_lines: ['amount'],
  finance_lines: ['amount'],
};

/** Rows come in this order, as far as a view has these columns. */
const ORDER = [
  'workspace_id',
  'period',
  'tenant_id',
  'day',
  'line_number',
  'line_id',
  'entry_id',
  'event_seq',
  'started_at',
];

export interface ViewFilters {
  workspaceId?: string | undefined;
  tenantId?: string | undefined;
  period?: Period | PeriodWindow | undefined;
}

export function financeViews(connection: LedgerDb): string[] {
  const views = schemaObjects(connection).filter(({ type, name }) => type === 'view' && name.startsWith('finance_'));
  return views.map(({ name }) => name).sort();
}

/**
 * The rows of a view, by its full name or without `finance_`. Filters match byte for byte. Throws UsageError for a view
 * that there is not, and for a filter on a column that it does not have.
 */
export function viewSheet(connection: LedgerDb, name: string, filters: ViewFilters = {}): Sheet {
  const known = financeViews(connection);
  const view = known.find((candidate) => candidate === name || candidate === `finance_${name}`);
  if (view === undefined)
    throw new UsageError(`there is no view ${JSON.stringify(name)}`, `use one of ${known.join(', ')}`);
  const columns = viewColumns(connection, view);
  const has = (column: string): boolean => columns.some((candidate) => candidate.name === column);
  // A correction belongs to the month that it is booked in: there it is billed.
  const period = has('booked_period') ? 'booked_period' : 'period';
  const wanted = { workspace_id: filters.workspaceId, tenant_id: filters.tenantId, [period]: filters.period };
  for (const [column, value] of Object.entries(wanted)) {
    if (value === undefined || has(column)) continue;
    throw new UsageError(`${view} has no column ${column} to filter by`, 'leave the filter away');
  }
  const { where, values } = whereClause(wanted);
  const names = columns.map((column) => `"${column.name}"`).join(', ');
  const order = ORDER.filter(has).join(', ');
  const statement = connection
    .prepare(`SELECT ${names} FROM ${view} ${where} ${order === '' ? '' : `ORDER BY ${order}`}`)
    .safeIntegers()
    .raw();
  const reads = columns.map(({ kind }) => READS[kind]);
  const isPlain = reads.every((read) => read === undefined);
  const rows = {
    *[Symbol.iterator]() {
      for (const row of statement.iterate(...values) as IterableIterator<SheetValue[]>) {
        yield isPlain ? row : row.map((value, at) => reads[at]?.(value) ?? value);
      }
    },
  };
  return { name: view, columns, rows };
}

export function viewColumns(connection: LedgerDb, view: string): SheetColumn[] {
  return columnsOf(connection, view).map((name) => ({
    name,
    kind: viewColumnKind(name),
    ...(SUMS[view]?.includes(name) === true ? { sum: true } : {}),
  }));
}

/** What SQLite says otherwise than a sheet wants it. */
const READS: Partial<Record<ColumnKind, (value: SheetValue) => SheetValue>> = {
  double: (value) => (value === null ? null : Number(value)),
  flag: (value) => (value === null ? null : value === 1n),
};
