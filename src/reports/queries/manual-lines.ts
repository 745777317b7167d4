import type { Period } from '../../core/period.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { whereClause } from '../../ledger/store/where.ts';

export interface ManualLineRow {
  line_id: bigint;
  workspace_id: string;
  period: Period;
  tenant_id: string;
  amount: string;
  currency: string;
  reason: string;
  actor: string;
  recorded_at: string;
  revoked_at: string | null;
  revoked_by: string | null;
  revoked_because: string | null;
}

export function manualLines(
  connection: LedgerConnection,
  wanted: { workspaceId?: string | undefined; tenantId?: string | undefined; period?: Period | undefined },
): ManualLineRow[] {
  const { workspaceId, tenantId, period } = wanted;
  const { where, values } = whereClause({ workspace_id: workspaceId, tenant_id: tenantId, period });
  return connection
    .prepare(
      `SELECT line_id, workspace_id, period, tenant_id, amount, currency, reason, actor, recorded_at, revoked_at, revoked_by,
         revoked_because
       FROM finance_lines ${where} ORDER BY line_id`,
    )
    .safeIntegers()
    .all(...values) as ManualLineRow[];
}
