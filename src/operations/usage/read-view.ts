import { z } from 'zod';
import { FINANCE_VIEWS } from '../../config/schema/finance-views.ts';
import { VIEW_COLUMNS } from '../../ledger/store/schema/view-columns/view-columns.ts';
import type { Sheet, SheetColumn, SheetValue } from '../../reports/formats/columns.ts';
import { type ViewPlace, viewPage, viewSheet } from '../../reports/queries/finance-view.ts';
import { PERIOD_FILTERS, TENANT_FILTER, WORKSPACE_FILTER } from '../filters.ts';
import { type Listing, type ListOperation, listOperation, type Page, type RowKey, type Scope } from '../operation.ts';
import { exactInteger } from '../schemas.ts';
import { selectedPeriods } from '../selected-periods.ts';
import { requireKnownWorkspace } from '../workspace-choice.ts';

const VIEW_FILTERS = { ...WORKSPACE_FILTER, ...TENANT_FILTER, ...PERIOD_FILTERS };
const filters = z.strictObject(VIEW_FILTERS);
const head = z.strictObject({ name: z.string().describe('the view') });
const value = z.union([z.string(), exactInteger, z.number(), z.boolean(), z.null()]);

/** The views for which `views.read` is the recommended operation. Each other view has an operation of its own. */
const OTHER_VIEWS: readonly (typeof FINANCE_VIEWS)[number][] = [
  'month_to_date',
  'daily',
  'history',
  'charge_lines',
  'rate_cards',
  'statements',
  'outlet_events',
  'alerts',
  'alert_events',
  'alert_messages',
];

/**
 * Views that are slow to read: their rows are sums over all tenants of a month, or compare all tenants with an earlier
 * day.
 */
const SLOW_VIEWS: readonly (typeof FINANCE_VIEWS)[number][] = ['budgets', 'margin', 'month_to_date', 'period_totals'];

export type ViewRow = Record<string, SheetValue>;
export type ViewInput = z.output<typeof filters>;

export const readView = listOperation({
  name: 'views.read',
  summary: 'Read a view of the ledger',
  details: `Shows what no other tool lists. ${viewGuide()} The columns of each view are the resource ledger://views/NAME.`,
  role: 'read',
  input: z.strictObject({
    view: z.enum(FINANCE_VIEWS).describe('the view, without `finance_`'),
    ...VIEW_FILTERS,
  }),
  http: { method: 'GET', path: '/exports/{view}' },
  command: 'export',
  title: 'view',
  member: 'rows',
  head,
  row: z.record(z.string(), value),
  columns: 'listing',
  keyOf,
  isSlow: ({ view }) => SLOW_VIEWS.includes(view),
  run: (scope, { view, ...wanted }, page) => listingOf(scope, view, wanted, page),
});

/** Describes the rows of the views that have no operation of their own. */
function viewGuide(): string {
  return OTHER_VIEWS.map((view) => `\`${view}\`: ${VIEW_COLUMNS[`finance_${view}`]?.row}`).join(' ');
}

/** The operations with a path of their own, such as `/charges`. Each of them lists one view. */
export const VIEW_OPERATIONS = [
  viewList(
    'adjustments',
    'corrections',
    'List corrections of closed months',
    'Changes of a closed month that the service made later; each counts in the month `booked_period`. charges_list has their money.',
  ),
  viewList(
    'budgets',
    'budgets',
    'List budgets and how much of them is used',
    'Shows how much of a budget is used and where it will end: credits or money, of a tenant or of a whole workspace, in open months.',
  ),
  viewList(
    'charges',
    'charges',
    'List what each tenant is charged by month',
    'Use it for revenue and amounts due: sum `amount_minor` by `currency`, never across currencies. Amounts include corrections and manual lines. Months that are not closed are estimates. `external_ref` is the customer of the billing system.',
  ),
  viewList(
    'closes',
    'closes',
    'List the closes of months, and how they were reopened',
    'Shows who closed or reopened a month, when, with which note, and which blockers were overridden.',
  ),
  viewList(
    'margin',
    'margin',
    'List revenue, cost and margin by tenant and month',
    'Needs cost cards. `no_margin` says why a row has none.',
  ),
  viewList(
    'period_changes',
    'changes',
    'List each month of a tenant compared with the previous one',
    'Use it for growth and decline: `credits_change` and `change_percent` against the previous month, null for a tenant without one. The current month is not over: for it use views_read with `month_to_date`, which compares with the same day of last month.',
  ),
  viewList(
    'period_totals',
    'periods',
    'List the totals of each month of a workspace',
    'Use it for totals by month: tenants, credits, requests, and whether the month is complete and closed. Few rows, so use it before usage_list. For what blocks a close use periods_plan.',
  ),
  viewList(
    'reconciliations',
    'reconciliations',
    'List recorded comparisons with invoices',
    'Shows whether an invoice file agreed with the ledger: how many tenants matched, were missing, extra or different.',
  ),
  viewList(
    'runs',
    'runs',
    'List runs: what was read when, and errors',
    'Shows when something was read, how much of it, and why a run failed.',
  ),
  viewList(
    'freshness',
    'workspaces',
    'List workspaces: the last complete run and the months covered',
    'Shows how old the figures of each workspace are and which months they cover.',
  ),
];

function viewList(
  view: (typeof FINANCE_VIEWS)[number],
  resource: string,
  summary: string,
  details: string,
): ListOperation<typeof filters, ViewRow, z.output<typeof head>> {
  return listOperation({
    name: `${resource}.list`,
    summary,
    details,
    role: 'read',
    input: filters,
    http: { method: 'GET', path: `/${resource}` },
    command: `export ${view}`,
    title: resource,
    member: 'rows',
    head,
    row: z.record(z.string(), value),
    columns: 'listing',
    keyOf,
    isSlow: () => SLOW_VIEWS.includes(view),
    run: (scope, wanted, page) => listingOf(scope, view, wanted, page),
  });
}

/** Returns all rows of a view as a sheet. */
export function sheetOfView(scope: Scope, view: string, { workspace, tenant, ...periods }: ViewInput): Sheet {
  requireKnownWorkspace(scope, workspace);
  const period = selectedPeriods(periods);
  return viewSheet(scope.connection, view, { workspaceId: workspace, tenantId: tenant, period });
}

/**
 * The position in the view of each row of a page. It is not part of the row, because not every view has columns that
 * identify a row.
 */
const places = new WeakMap<ViewRow, ViewPlace>();

function keyOf(row: ViewRow): RowKey {
  const place = places.get(row);
  if (place === undefined) throw new Error('only a row of a page has a place');
  return [place.repeated, ...place.values.map((each) => (typeof each === 'boolean' ? Number(each) : each))];
}

function listingOf(
  scope: Scope,
  view: string,
  wanted: ViewInput,
  { after, limit }: Page,
): Listing<ViewRow, { name: string }> {
  if (limit === null) {
    const { name, columns, rows } = sheetOfView(scope, view, wanted);
    return { head: { name }, columns, rows: rowsOf(columns, rows) };
  }
  const { workspace, tenant, ...periods } = wanted;
  requireKnownWorkspace(scope, workspace);
  const [repeated, ...values] = after ?? [];
  const place = after === null ? null : { values, repeated: Number(repeated) };
  const selection = { workspaceId: workspace, tenantId: tenant, period: selectedPeriods(periods) };
  const page = viewPage(scope.connection, view, selection, { after: place, limit });
  const rows = page.rows.map((placed) => {
    const row = rowOf(page.columns, placed.row);
    places.set(row, placed.place);
    return row;
  });
  return { head: { name: page.name }, columns: page.columns, rows };
}

function* rowsOf(columns: readonly SheetColumn[], rows: Sheet['rows']): Generator<ViewRow> {
  for (const row of rows) yield rowOf(columns, row);
}

function rowOf(columns: readonly SheetColumn[], row: readonly SheetValue[]): ViewRow {
  return Object.fromEntries(columns.map(({ name }, at) => [name, row[at] ?? null]));
}
