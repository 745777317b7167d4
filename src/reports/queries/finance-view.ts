import { AppError, UsageError } from '../../core/errors.ts';
import type { Period, PeriodWindow } from '../../core/period.ts';
import { columnsOf, listSchemaObjects } from '../../ledger/store/file/schema-objects.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { type Filters, whereClause } from '../../ledger/store/where.ts';
import type { ColumnKind, Sheet, SheetColumn, SheetValue } from '../formats/columns.ts';
import { storedMonths } from './stored-months.ts';
import { type TenantRange, tenantRanges } from './tenant-ranges.ts';

/**
 * The kinds of the columns in the `finance_*` views: a pattern for column names, and the kind of the columns that
 * match. All other columns are text.
 */
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

/**
 * The columns that get a total in a workbook, by view. A view has totals only if none of its rows includes the figures
 * of another row.
 */
const TOTALLED_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  finance_usage: ['credits_used', 'request_count'],
  finance_period_totals: ['credits_used', 'request_count'],
  finance_adjustments: ['credits_delta', 'requests_delta'],
  finance_charges: ['amount'],
  finance_charge_lines: ['amount'],
  finance_lines: ['amount'],
};

/** The columns by which rows are sorted, in this order. Columns that a view does not have are left out. */
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
  'alert_id',
  'revision',
  'notification_id',
  'channel',
];

export interface ViewFilters {
  workspaceId?: string | undefined;
  tenantId?: string | undefined;
  period?: Period | PeriodWindow | undefined;
}

export function financeViews(connection: LedgerDb): string[] {
  const views = listSchemaObjects(connection).filter(
    ({ type, name }) => type === 'view' && name.startsWith('finance_'),
  );
  return views.map(({ name }) => name).sort();
}

/**
 * Returns the rows of a view. `name` is the view's name with or without `finance_`. Filters match exactly. Throws
 * UsageError for an unknown view and for a filter on a column that the view does not have.
 */
export function viewSheet(connection: LedgerDb, name: string, filters: ViewFilters = {}): Sheet {
  const { view, columns, selection } = selectionOf(connection, name, filters);
  const { where, values } = whereClause(selection);
  const read = { view, columns, order: ORDER.filter((each) => columns.some((column) => column.name === each)) };
  const rows = {
    *[Symbol.iterator]() {
      yield* readRows(connection, read, { where, values, limit: null });
    },
  };
  return { name: view, columns, rows };
}

function selectionOf(
  connection: LedgerDb,
  name: string,
  filters: ViewFilters,
): { view: string; columns: SheetColumn[]; selection: Filters } {
  const known = financeViews(connection);
  const view = known.find((candidate) => candidate === name || candidate === `finance_${name}`);
  if (view === undefined)
    throw new UsageError(`there is no view ${JSON.stringify(name)}`, `use one of ${known.join(', ')}`);
  const columns = viewColumns(connection, view);
  const has = (column: string): boolean => columns.some((candidate) => candidate.name === column);
  // In views of corrections, the filter selects the month in which a correction is booked and billed.
  const period = has('booked_period') ? 'booked_period' : 'period';
  const selection = { workspace_id: filters.workspaceId, tenant_id: filters.tenantId, [period]: filters.period };
  for (const [column, value] of Object.entries(selection)) {
    if (value === undefined || has(column)) continue;
    throw new UsageError(`${view} has no column ${column} to filter by`, 'remove the filter');
  }
  return { view, columns, selection };
}

/** Views in which each row belongs to one workspace and one month. A page of such a view is read month by month. */
const MONTHLY_VIEWS: readonly string[] = [
  'finance_budgets',
  'finance_charge_lines',
  'finance_charges',
  'finance_daily',
  'finance_history',
  'finance_lines',
  'finance_margin',
  'finance_month_to_date',
  'finance_period_changes',
  'finance_period_totals',
  'finance_statements',
  'finance_usage',
];

const IS_OPEN = "periods.closed_seq IS NULL AND periods.period_end >= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";

/**
 * SQL conditions for the months that can have rows in a view. Without the condition, SQLite would also compute the view
 * for every month that has none.
 */
const MONTHS_WITH_ROWS: Readonly<Record<string, string>> = {
  finance_budgets: `${IS_OPEN} AND EXISTS (SELECT 1 FROM budgets b WHERE b.workspace_key = periods.workspace_key)`,
  finance_margin: 'EXISTS (SELECT 1 FROM costs c WHERE c.period_key = periods.period_key)',
  finance_month_to_date: IS_OPEN,
};

/**
 * Monthly views that SQLite would compute and sort for all tenants of the month on each page. They are therefore read
 * by ranges of tenants within a month.
 */
const VIEWS_BY_TENANT: readonly string[] = [
  'finance_charge_lines',
  'finance_charges',
  'finance_daily',
  'finance_history',
  'finance_month_to_date',
  'finance_period_changes',
];

/**
 * The position of a row in a view, used as a cursor: the row's values in the sort columns, and the number of earlier
 * rows with the same values.
 */
export interface ViewPlace {
  values: readonly SheetValue[];
  repeated: number;
}

export interface PlacedRow {
  row: readonly SheetValue[];
  place: ViewPlace;
}

/**
 * Returns the first `limit` rows of a view after a position, each with its own position, in the order of `viewSheet`.
 */
export function viewPage(
  connection: LedgerDb,
  name: string,
  filters: ViewFilters,
  { after, limit }: { after: ViewPlace | null; limit: number },
): { name: string; columns: SheetColumn[]; rows: PlacedRow[] } {
  const { view, columns, selection } = selectionOf(connection, name, filters);
  const order = ORDER.filter((each) => columns.some((column) => column.name === each));
  const positions = order.map((each) => columns.findIndex((column) => column.name === each));
  if (after !== null && !isPlaceOf(after, order)) throw new AppError('bad_cursor', NO_PLACE, { hint: NO_PLACE_HINT });
  // The query also returns rows with the same sort values as the cursor. The ones that an earlier page returned are
  // skipped.
  const skipped = after === null ? 0 : after.repeated + 1;
  const found: (readonly SheetValue[])[] = [];
  for (const part of partsOf(connection, view, { filters, selection, order, after, limit })) {
    const left = limit + skipped - found.length;
    if (left <= 0) break;
    found.push(...readRows(connection, { view, columns, order }, { ...part, limit: left }));
  }
  const rows: PlacedRow[] = [];
  let last: ViewPlace = { values: [], repeated: -1 };
  for (const row of found) {
    const values = positions.map((at) => row[at] ?? null);
    last = { values, repeated: isSame(values, last.values) ? last.repeated + 1 : 0 };
    const isKnown = after !== null && isSame(values, after.values);
    if (!isKnown || last.repeated > after.repeated) rows.push({ row, place: last });
  }
  return { name: view, columns, rows: rows.slice(0, limit) };
}

const NO_PLACE = 'cursor has no place in this listing';
const NO_PLACE_HINT = 'start again without a cursor';

/** Reports whether a position has a value for each sort column. Cursors come from callers, so they can be invented. */
function isPlaceOf({ values, repeated }: ViewPlace, order: readonly string[]): boolean {
  return values.length === order.length && Number.isSafeInteger(repeated) && repeated >= 0;
}

function isSame(a: readonly SheetValue[], b: readonly SheetValue[]): boolean {
  return a.length === b.length && a.every((value, at) => value === b[at]);
}

interface QueryPart {
  where: string;
  values: (string | number | bigint)[];
}

/**
 * Splits the query for the rows from a position on into parts, and yields the SQL condition of each part in order. A
 * monthly view has a part for each month of a workspace, or for each range of tenants in the month.
 */
function* partsOf(
  connection: LedgerDb,
  view: string,
  wanted: {
    filters: ViewFilters;
    selection: Filters;
    order: readonly string[];
    after: ViewPlace | null;
    limit: number;
  },
): Generator<QueryPart> {
  const { filters, selection, order, after, limit } = wanted;
  if (!MONTHLY_VIEWS.includes(view)) {
    yield conditionOf(selection, order, after);
    return;
  }
  const [workspaceId, period] = (after?.values ?? []).map(String);
  const from = workspaceId === undefined || period === undefined ? null : { workspaceId, period };
  for (const month of storedMonths(connection, { ...filters, from, only: MONTHS_WITH_ROWS[view] })) {
    const isFirst = month.workspace_id === workspaceId && month.period === period;
    const monthly = { ...selection, workspace_id: month.workspace_id, period: month.period };
    const place = isFirst && after !== null ? { ...after, values: after.values.slice(2) } : null;
    if (!VIEWS_BY_TENANT.includes(view) || filters.tenantId !== undefined) {
      yield conditionOf(monthly, order.slice(2), place);
      continue;
    }
    const from = place === null ? null : String(place.values[0]);
    let rest: ViewPlace | null = place;
    for (const range of tenantRanges(connection, { workspaceId: month.workspace_id, from, count: limit })) {
      yield withRange(conditionOf(monthly, order.slice(2), rest), range);
      rest = null;
    }
  }
}

/** Adds a range of tenant ids to a condition. The upper bound is the first id of the next range, so it is excluded. */
function withRange({ where, values }: QueryPart, { from, to }: TenantRange): QueryPart {
  const bounds = [from === null ? [] : ['tenant_id >= ?'], to === null ? [] : ['tenant_id < ?']].flat();
  return {
    where: [where, ...bounds].join(' AND '),
    values: [...values, ...[from, to].filter((bound) => bound !== null)],
  };
}

/** Returns the SQL condition for the rows that are at or after a position in the sort order. Null sorts first. */
function conditionOf(selection: Filters, order: readonly string[], after: ViewPlace | null): QueryPart {
  const { where, values } = whereClause(selection);
  if (after === null || order.length === 0) return { where, values };
  const parameters: QueryPart['values'] = [];
  const fromColumn = (at: number): string => {
    const [column, value] = [order[at] ?? '', after.values[at] ?? null];
    const isLast = at === order.length - 1;
    if (value === null) {
      return isLast ? '1' : `(${column} IS NOT NULL OR ${fromColumn(at + 1)})`;
    }
    parameters.push(plainParameter(value));
    if (isLast) return `${column} >= ?`;
    parameters.push(plainParameter(value));
    return `(${column} > ? OR (${column} = ? AND ${fromColumn(at + 1)}))`;
  };
  const condition = fromColumn(0);
  return {
    where: where === '' ? `WHERE ${condition}` : `${where} AND ${condition}`,
    values: [...values, ...parameters],
  };
}

function plainParameter(value: Exclude<SheetValue, null>): string | number | bigint {
  return typeof value === 'boolean' ? Number(value) : value;
}

function* readRows(
  connection: LedgerDb,
  { view, columns, order }: { view: string; columns: readonly SheetColumn[]; order: readonly string[] },
  { where, values, limit }: QueryPart & { limit: number | null },
): Generator<SheetValue[]> {
  const names = columns.map((column) => `"${column.name}"`).join(', ');
  const statement = connection
    .prepare(
      `SELECT ${names} FROM ${view} ${where} ${order.length === 0 ? '' : `ORDER BY ${order.join(', ')}`}
       ${limit === null ? '' : 'LIMIT ?'}`,
    )
    .safeIntegers()
    .raw();
  const converters = columns.map(({ kind }) => VALUE_CONVERTERS[kind]);
  const isPlain = converters.every((read) => read === undefined);
  const parameters = limit === null ? values : [...values, limit];
  for (const row of statement.iterate(...parameters) as IterableIterator<SheetValue[]>) {
    yield isPlain ? row : row.map((value, at) => converters[at]?.(value) ?? value);
  }
}

export function viewColumns(connection: LedgerDb, view: string): SheetColumn[] {
  return columnsOf(connection, view).map((name) => ({
    name,
    kind: viewColumnKind(name),
    ...(TOTALLED_COLUMNS[view]?.includes(name) === true ? { sum: true } : {}),
  }));
}

/** Functions that convert a SQLite value to the sheet's type, for the kinds of columns where the two differ. */
const VALUE_CONVERTERS: Partial<Record<ColumnKind, (value: SheetValue) => SheetValue>> = {
  double: (value) => (value === null ? null : Number(value)),
  flag: (value) => (value === null ? null : value === 1n),
};
