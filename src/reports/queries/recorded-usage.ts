import type { LedgerConnection } from '../../ledger/store/file/open.ts';

/** Credits of a tenant in a period, as `finance_usage` says them. */
export interface RecordedUsageRow {
  workspaceId: string;
  tenantId: string;
  period: string;
  credits: bigint;
}

/** All usage that is not withdrawn, workspace by workspace and period by period, one row at a time. */
export function recordedUsage(connection: LedgerConnection): IterableIterator<RecordedUsageRow> {
  return connection
    .prepare(
      `SELECT workspace_id AS workspaceId, tenant_id AS tenantId, period, credits_used AS credits
       FROM finance_usage WHERE withdrawn = 0 ORDER BY workspace_id, period`,
    )
    .safeIntegers()
    .iterate() as IterableIterator<RecordedUsageRow>;
}
