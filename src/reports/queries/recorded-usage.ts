import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { whereClause } from '../../ledger/store/where.ts';

/** Credits of a tenant in a period, as `finance_usage` says them. */
export interface RecordedUsageRow {
  workspaceId: string;
  tenantId: string;
  period: string;
  credits: bigint;
}

/** The usage that is not withdrawn, workspace by workspace and period by period, one row at a time. */
export function recordedUsage(
  connection: LedgerConnection,
  { workspaceId, period, isClosed }: { workspaceId?: string; period?: string; isClosed?: boolean } = {},
): IterableIterator<RecordedUsageRow> {
  const state = isClosed === undefined ? undefined : isClosed ? 'closed' : ['open', 'settling'];
  const { where, values } = whereClause({ workspace_id: workspaceId, period, state });
  return connection
    .prepare(
      `SELECT workspace_id AS workspaceId, tenant_id AS tenantId, period, credits_used AS credits
       FROM finance_usage ${where === '' ? 'WHERE' : `${where} AND`} withdrawn = 0 ORDER BY workspace_id, period`,
    )
    .safeIntegers()
    .iterate(...values) as IterableIterator<RecordedUsageRow>;
}
