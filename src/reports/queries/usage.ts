import type { Period, PeriodWindow } from '../../core/period.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { and, asc, eq, query } from '../../ledger/store/schema/drizzle.ts';
import type { financeUsage } from '../../ledger/store/schema/finance-views.ts';
import type { RowWithBigints } from '../../ledger/store/schema/rows.ts';
import { usageEntries } from '../../ledger/store/schema/run-tables.ts';
import { tenants, workspaces } from '../../ledger/store/schema/workspace-tables.ts';
import { findPeriodOf } from '../../ledger/store/subjects.ts';
import { tenantNameLookup } from '../../ledger/store/tenant-names.ts';
import { whereClause } from '../../ledger/store/where.ts';
import type { Column } from '../formats/columns.ts';
import { storedMonths } from './stored-months.ts';

/** One row of `finance_usage` with the tenant's name. Credits and counts are exact; times are ISO-8601 UTC. */
export type UsageRow = Omit<StoredUsage, 'withdrawn'> & { withdrawn: boolean; display_name: string | null };

export const USAGE_COLUMNS: readonly Column<UsageRow>[] = [
  { name: 'workspace_id', kind: 'id', header: 'Workspace' },
  { name: 'tenant_id', kind: 'id', header: 'Tenant' },
  { name: 'display_name', kind: 'text', header: 'Name', sparse: true },
  { name: 'period', kind: 'text', header: 'Period' },
  { name: 'period_start', kind: 'date' },
  { name: 'period_end', kind: 'date' },
  { name: 'credits_used', kind: 'credits', header: 'Credits', sum: true },
  { name: 'request_count', kind: 'count', header: 'Requests', sum: true },
  {
    name: 'state',
    kind: 'text',
    header: 'State',
    words: (state, row) => (row.withdrawn ? `${state}, withdrawn` : state),
  },
  { name: 'first_seen_at', kind: 'date' },
  { name: 'changed_at', kind: 'date', header: 'Changed' },
  { name: 'withdrawn', kind: 'flag' },
];

const USAGE_SQL = `workspace_id, tenant_id, period, period_start, period_end, credits_used, request_count, state,
  first_seen_at, changed_at, withdrawn`;

/** SQL for the current name of the tenant in row `u` of the outer query. */
const NAME_SQL = `(SELECT n.display_name FROM workspaces w JOIN tenants t USING (workspace_key) JOIN tenant_names n USING (tenant_key)
  WHERE w.workspace_id = u.workspace_id AND t.tenant_id = u.tenant_id ORDER BY n.after_seq DESC LIMIT 1)`;

type StoredUsage = RowWithBigints<typeof financeUsage.$inferSelect>;

type NamedUsage = StoredUsage & Pick<UsageRow, 'display_name'>;

export interface UsageFilters {
  workspaceId?: string | undefined;
  tenantId?: string | undefined;
  period?: Period | PeriodWindow | undefined;
}

/** Yields the current usage, one row at a time, sorted by workspace, period and tenant. Filters match exactly. */
export function* eachUsageRow(connection: LedgerDb, filters: UsageFilters): Generator<UsageRow> {
  const { workspaceId, tenantId, period } = filters;
  const { where, values } = whereClause({ workspace_id: workspaceId, tenant_id: tenantId, period });
  const nameOf = tenantNameLookup(connection, filters);
  const rows = connection
    .prepare(
      `SELECT ${USAGE_SQL}
       FROM finance_usage ${where} ORDER BY workspace_id, period, tenant_id`,
    )
    .safeIntegers()
    .iterate(...values) as IterableIterator<StoredUsage>;
  for (const row of rows) {
    yield withName(row, nameOf(row.workspace_id, row.tenant_id));
  }
}

/** The position of a row in the listing that `usagePage` returns. */
export interface UsagePlace {
  workspaceId: string;
  period: string;
  tenantId: string;
}

/**
 * Returns the first `limit` rows after a position, in the order of `eachUsageRow`. An index finds the rows of each
 * workspace and month, so a page takes the same time in a large and in a small ledger.
 */
export function usagePage(
  connection: LedgerDb,
  filters: UsageFilters,
  { after, limit }: { after: UsagePlace | null; limit: number },
): UsageRow[] {
  const { workspaceId, tenantId, period } = filters;
  // One tenant has few rows, and the index of tenants finds them in one query.
  if (tenantId !== undefined) return tenantRows(connection, filters, after, limit);
  const rows: UsageRow[] = [];
  const select = connection
    .prepare(
      `SELECT ${USAGE_SQL}, ${NAME_SQL} AS display_name
       FROM finance_usage u WHERE workspace_id = ? AND period = ? AND tenant_id > ? ORDER BY tenant_id LIMIT ?`,
    )
    .safeIntegers();
  for (const month of storedMonths(connection, { workspaceId, period, from: after })) {
    if (rows.length >= limit) break;
    const isFirst = month.workspace_id === after?.workspaceId && month.period === after.period;
    const place = isFirst ? after.tenantId : '';
    const found = select.all(month.workspace_id, month.period, place, limit - rows.length) as NamedUsage[];
    for (const { display_name: name, ...row } of found) rows.push(withName(row, name));
  }
  return rows;
}

/** Returns the first `limit` rows of one tenant after a position; null as position starts at the first row. */
function tenantRows(
  connection: LedgerDb,
  { workspaceId, tenantId, period }: UsageFilters,
  after: UsagePlace | null,
  limit: number,
): UsageRow[] {
  const { where, values } = whereClause({ workspace_id: workspaceId, tenant_id: tenantId, period });
  const rows = connection
    .prepare(
      `SELECT ${USAGE_SQL} FROM finance_usage ${where} AND (workspace_id, period) > (?, ?)
       ORDER BY workspace_id, period LIMIT ?`,
    )
    .safeIntegers()
    .all(...values, after?.workspaceId ?? '', after?.period ?? '', limit) as StoredUsage[];
  const nameOf = tenantNameLookup(connection, { workspaceId, tenantId });
  return rows.map((row) => withName(row, nameOf(row.workspace_id, row.tenant_id)));
}

function withName(row: StoredUsage, displayName: string | null): UsageRow {
  return { ...row, withdrawn: row.withdrawn !== 0n, display_name: displayName };
}

export function usageRows(connection: LedgerDb, filters: UsageFilters): UsageRow[] {
  return [...eachUsageRow(connection, filters)];
}

export function ledgerWorkspaces(connection: LedgerDb): string[] {
  const all = query(connection).select().from(workspaces).orderBy(asc(workspaces.workspaceId)).all();
  return all.map(({ workspaceId }) => workspaceId);
}

export function readCreditReadings(
  connection: LedgerDb,
  { workspaceId, period, tenantId }: { workspaceId: string; period: string; tenantId: string },
): bigint[] {
  const found = findPeriodOf(connection, workspaceId, period);
  if (found === undefined) return [];
  const isTenant = and(eq(tenants.workspaceKey, found.workspaceKey), eq(tenants.tenantId, tenantId));
  return query(connection)
    .select({ credits: usageEntries.creditsAfter })
    .from(usageEntries)
    .innerJoin(tenants, eq(tenants.tenantKey, usageEntries.tenantKey))
    .where(and(eq(usageEntries.periodKey, found.periodKey), isTenant))
    .orderBy(asc(usageEntries.entryId))
    .all()
    .map(({ credits }) => credits);
}

interface RecordedUsageRow {
  workspaceId: string;
  tenantId: string;
  period: string;
  credits: bigint;
  requests: bigint;
}

/** Yields the usage that is not withdrawn, one row at a time, sorted by workspace and period. */
export function recordedUsage(
  connection: LedgerDb,
  { workspaceId, period, isClosed }: { workspaceId?: string; period?: string; isClosed?: boolean } = {},
): IterableIterator<RecordedUsageRow> {
  const state = isClosed === undefined ? undefined : isClosed ? 'closed' : ['open', 'settling'];
  const { where, values } = whereClause({ workspace_id: workspaceId, period, state });
  return connection
    .prepare(
      `SELECT workspace_id AS workspaceId, tenant_id AS tenantId, period, credits_used AS credits, request_count AS requests
       FROM finance_usage ${where === '' ? 'WHERE' : `${where} AND`} withdrawn = 0 ORDER BY workspace_id, period`,
    )
    .safeIntegers()
    .iterate(...values) as IterableIterator<RecordedUsageRow>;
}
