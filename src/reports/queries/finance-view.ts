import { UsageError } from '../../core/errors.ts';
import type { Period, PeriodWindow } from '../../core/period.ts';
import { columnsOf, schemaObjects } from '../../ledger/store/file/schema-objects.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { whereClause } from '../../ledger/store/where.ts';
import type { ColumnKind, Sheet, SheetColumn, SheetValue } from '../formats/columns.ts';

/** The kinds of the columns of the `finance_*` views, by column name in any view. All others are text. */
const VIEW_COLUMN_KINDS: readonly [RegExp, ColumnKind][] = [
  [/^(alert|run|tenant|workspace)_id$|(^|_)digest$|^external_ref$/, 'id'],
  [/(^|_)credits(_|$)|^(projection|threshold)$/, 'credits'],
  [
    /(^|_)requests?(_|$)|_minor$|^(attempts|entries|pages|priority|records|tenants|tier|revision|notified_count)$/,
    'count',
  ],
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

/** The columns that a workbook totals. Only views where no row includes another one have totals. */
const TOTALLED_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  finance_usage: ['credits_used', 'request_count'],
  finance_period_totals: ['credits_used', 'request_count'],
  finance_adjustments: ['credits_delta', 'requests_delta'],
  finance_charges: ['amount'],
  finance_charge_lines: ['amount'],
  finance_lines: ['amount'],
};

/** The sort order of rows: the first of these columns that the view has, and so on. */
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
 * Returns the rows of a view, by its name with or without `finance_`. Filters match exactly. Throws UsageError for an
 * unknown view and for a filter on a missing column.
 */
export function viewSheet(connection: LedgerDb, name: string, filters: ViewFilters = {}): Sheet {
  const known = financeViews(connection);
  const view = known.find((candidate) => candidate === name || candidate === `finance_${name}`);
  if (view === undefined)
    throw new UsageError(`there is no view ${JSON.stringify(name)}`, `use one of ${known.join(', ')}`);
  const columns = viewColumns(connection, view);
  const has = (column: string): boolean => columns.some((candidate) => candidate.name === column);
  // A correction belongs to the month in which it is booked and billed.
  const period = has('booked_period') ? 'booked_period' : 'period';
  const selection = { workspace_id: filters.workspaceId, tenant_id: filters.tenantId, [period]: filters.period };
  for (const [column, value] of Object.entries(selection)) {
    if (value === undefined || has(column)) continue;
    throw new UsageError(`${view} has no column ${column} to filter by`, 'remove the filter');
  }
  const { where, values } = whereClause(selection);
  const names = columns.map((column) => `"${column.name}"`).join(', ');
  const order = ORDER.filter(has).join(', ');
  const statement = connection
    .prepare(`SELECT ${names} FROM ${view} ${where} ${order === '' ? '' : `ORDER BY ${order}`}`)
    .safeIntegers()
    .raw();
  const converters = columns.map(({ kind }) => VALUE_CONVERTERS[kind]);
  const isPlain = converters.every((read) => read === undefined);
  const rows = {
    *[Symbol.iterator]() {
      for (const row of statement.iterate(...values) as IterableIterator<SheetValue[]>) {
        yield isPlain ? row : row.map((value, at) => converters[at]?.(value) ?? value);
      }
    },
  };
  return { name: view, columns, rows };
}

export function viewColumns(connection: LedgerDb, view: string): SheetColumn[] {
  return columnsOf(connection, view).map((name) => ({
    name,
    kind: viewColumnKind(name),
    ...(TOTALLED_COLUMNS[view]?.includes(name) === true ? { sum: true } : {}),
  }));
}

/** Converts SQLite values to the sheet's types where they differ. */
const VALUE_CONVERTERS: Partial<Record<ColumnKind, (value: SheetValue) => SheetValue>> = {
  double: (value) => (value === null ? null : Number(value)),
  flag: (value) => (value === null ? null : value === 1n),
};
