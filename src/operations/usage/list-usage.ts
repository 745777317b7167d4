import { z } from 'zod';
import { isoTime } from '../../core/clock.ts';
import type { Period, PeriodWindow } from '../../core/period.ts';
import { usageAsOf } from '../../ledger/journal/runs/as-of.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { tenantNameLookup } from '../../ledger/store/tenant-names.ts';
import {
  eachUsageRow,
  USAGE_COLUMNS,
  type UsageFilters,
  type UsageRow,
  usagePage,
} from '../../reports/queries/usage.ts';
import { PERIOD_FILTERS, TENANT_FILTER, WORKSPACE_FILTER } from '../filters.ts';
import { listOperation, type Page, type RowKey, rowsAfter } from '../operation.ts';
import { momentText, rowSchema } from '../schemas.ts';
import { selectedPeriods } from '../selected-periods.ts';
import { requireKnownWorkspace } from '../workspace-choice.ts';

const input = z.strictObject({
  ...WORKSPACE_FILTER,
  ...TENANT_FILTER,
  ...PERIOD_FILTERS,
  as_of: momentText.optional().describe('the figures at this time'),
});

const head = z.strictObject({
  as_of: z.string().optional().describe('the requested time; absent for the current figures'),
  filters: z.strictObject({
    workspace_id: z.string().nullable(),
    tenant_id: z.string().nullable(),
    period: z.string().nullable(),
    from: z.string().nullable(),
    to: z.string().nullable(),
  }),
});

export const listUsage = listOperation({
  name: 'usage.list',
  summary: 'List credits and requests by workspace, month and tenant',
  details:
    'One row per workspace, month and tenant. Give `period` for one month, `from` and `to` for several, `as_of` for the figures that were known at an earlier time. Only a month whose `state` is `closed` is final; a row with `withdrawn` counts 0. Use periods_list for totals by workspace, changes_list for growth, charges_list for money, views_read with `daily` for days.',
  role: 'read',
  input,
  http: { method: 'GET', path: '/usage' },
  command: 'usage',
  title: 'usage',
  member: 'rows',
  head,
  row: rowSchema(USAGE_COLUMNS, ['display_name']),
  columns: USAGE_COLUMNS,
  keyOf,
  // Figures at an earlier time are computed by adding up all entries up to that time, which is slow.
  isSlow: ({ as_of: asOf }) => asOf !== undefined,
  run(scope, wanted, page) {
    const { workspace, tenant } = wanted;
    const period = selectedPeriods(wanted);
    requireKnownWorkspace(scope, workspace);
    const filters = { workspaceId: workspace, tenantId: tenant, period };
    const asOf = wanted.as_of === undefined ? null : isoTime(wanted.as_of);
    const requested = {
      workspace_id: workspace ?? null,
      tenant_id: tenant ?? null,
      period: wanted.period ?? null,
      from: wanted.from ?? null,
      to: wanted.to ?? null,
    };
    return {
      head: asOf === null ? { filters: requested } : { as_of: asOf, filters: requested },
      rows:
        asOf === null ? currentRows(scope.connection, filters, page) : pastRows(scope.connection, asOf, filters, page),
    };
  },
});

function keyOf({ workspace_id, period, tenant_id }: UsageRow): RowKey {
  return [workspace_id, period, tenant_id];
}

function currentRows(connection: LedgerDb, filters: UsageFilters, { after, limit }: Page): Iterable<UsageRow> {
  if (limit === null) return eachUsageRow(connection, filters);
  const [workspaceId, period, tenantId] = (after ?? []).map(String);
  const isFirst = workspaceId === undefined || period === undefined || tenantId === undefined;
  return usagePage(connection, filters, { after: isFirst ? null : { workspaceId, period, tenantId }, limit });
}

function pastRows(
  connection: LedgerDb,
  asOf: string,
  filters: {
    workspaceId?: string | undefined;
    tenantId?: string | undefined;
    period?: Period | PeriodWindow | undefined;
  },
  page: Page,
): Iterable<UsageRow> {
  const nameOf = tenantNameLookup(connection, filters);
  const rows = usageAsOf(connection, asOf, filters).map(({ closed, ...row }) => {
    return { ...row, display_name: nameOf(row.workspace_id, row.tenant_id) };
  });
  return rowsAfter(rows, keyOf, page);
}
