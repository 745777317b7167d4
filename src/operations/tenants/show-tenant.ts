import { z } from 'zod';
import { isInPeriods, type Period, type PeriodWindow } from '../../core/period.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { tenantNameLookup } from '../../ledger/store/tenant-names.ts';
import {
  TENANT_ENTRY_COLUMNS,
  type TenantEntry,
  tenantEntries,
  workspacesOfTenant,
} from '../../reports/queries/tenants.ts';
import { USAGE_COLUMNS, usageRows } from '../../reports/queries/usage.ts';
import { PERIOD_FILTERS, WORKSPACE_FILTER } from '../filters.ts';
import { documentOperation, type Scope } from '../operation.ts';
import { idText, rowSchema } from '../schemas.ts';
import { selectedPeriods } from '../selected-periods.ts';
import { requireKnownWorkspace } from '../workspace-choice.ts';
import { compareWithService, liveReportSchema } from './live-history.ts';

const input = z.strictObject({
  tenant_id: idText.describe('the tenant'),
  ...WORKSPACE_FILTER,
  ...PERIOD_FILTERS,
  limit: z.int().min(1).max(1_000_000_000).optional().describe('only this many entries per workspace, the latest'),
  live: z.boolean().optional().describe('also read the tenant from the service, and compare'),
});

const reportSchema = z.strictObject({
  workspace_id: z.string(),
  display_name: z.string().nullable(),
  usage: z.array(rowSchema(USAGE_COLUMNS, ['display_name'])),
  entries: z.array(rowSchema(TENANT_ENTRY_COLUMNS, [])).describe('every recorded change, in order'),
  live: liveReportSchema.nullable().describe('the comparison with the service; null unless requested'),
});

const output = z.strictObject({
  tenant_id: z.string(),
  workspaces: z.array(reportSchema).describe('the workspaces with data of the tenant'),
});

export type TenantReport = z.output<typeof reportSchema>;

export const showTenant = documentOperation({
  name: 'tenants.show',
  summary: 'Show the figures of one tenant and their history',
  details:
    'Everything about one tenant: credits and requests of each month, and every change with the time at which it was recorded. `live` also reads the billed service, which takes seconds: only to check whether the ledger is current. For many tenants use usage_list.',
  role: 'read',
  input,
  output,
  http: { method: 'GET', path: '/tenants/{tenant_id}' },
  command: 'tenant',
  async run(scope, { tenant_id, workspace, limit, live = false, ...periods }) {
    const selected = selectedPeriods(periods);
    const reports: TenantReport[] = [];
    for (const id of workspacesToRead(scope, tenant_id, workspace, live)) {
      reports.push(await reportOf(scope, { workspaceId: id, tenantId: tenant_id, period: selected, limit, live }));
    }
    return { tenant_id, workspaces: reports.filter(hasData) };
  },
});

/** Returns the latest `limit` entries. `earlier` is the number of entries that were left out. */
export function latestEntries<Entry>(entries: Entry[], limit: number | undefined): { shown: Entry[]; earlier: number } {
  const shown = limit === undefined ? entries : entries.slice(-limit);
  return { shown, earlier: entries.length - shown.length };
}

interface Wanted {
  workspaceId: string;
  tenantId: string;
  period: Period | PeriodWindow | undefined;
  limit: number | undefined;
  live: boolean;
}

async function reportOf(scope: Scope, wanted: Wanted): Promise<TenantReport> {
  const { connection } = scope;
  const { workspaceId, tenantId, period, limit, live } = wanted;
  const usage = usageRows(connection, { workspaceId, tenantId, period });
  const { shown } = latestEntries(entriesOf(connection, wanted), limit);
  const display_name = tenantNameLookup(connection, { workspaceId, tenantId })(workspaceId, tenantId);
  const comparison = live ? await compareWithService(scope, { workspaceId, tenantId, period, usage }) : null;
  return { workspace_id: workspaceId, display_name, usage, entries: shown, live: comparison };
}

function entriesOf(connection: LedgerDb, { workspaceId, tenantId, period: selected }: Wanted): TenantEntry[] {
  return tenantEntries(connection, workspaceId, tenantId).filter(({ period }) => isInPeriods(period, selected));
}

/**
 * Returns the ids of the workspaces to read: the named workspace only. Without a name, every workspace in which the
 * ledger has the tenant, and with `live` also every configured workspace.
 */
function workspacesToRead(scope: Scope, tenantId: string, workspace: string | undefined, live: boolean): string[] {
  requireKnownWorkspace(scope, workspace);
  if (workspace !== undefined) return [workspace];
  const configured = live ? scope.context.config.workspaces.map(({ id }) => id) : [];
  return [...new Set([...configured, ...workspacesOfTenant(scope.connection, tenantId)])];
}

function hasData({ usage, entries, live }: TenantReport): boolean {
  if (usage.length > 0 || entries.length > 0) return true;
  return live !== null && ('error' in live || live.periods.length > 0);
}
