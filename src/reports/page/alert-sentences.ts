import { alertMoments } from '../../alerts/queries/alert-moments.ts';
import { alertRecord } from '../../alerts/queries/alert-record.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { whereClause } from '../../ledger/store/where.ts';

export interface AlertSentence {
  severity: string;
  state: string;
  since: string | null;
  summary: string;
}

export function alertSentences(
  connection: LedgerConnection,
  { workspaceId, tenantId }: { workspaceId: string; tenantId?: string },
  limit: number,
): AlertSentence[] {
  const { where, values } = whereClause({
    workspace_id: workspaceId,
    tenant_id: tenantId,
    state: ['firing', 'acknowledged'],
  });
  const found = connection
    .prepare(
      `SELECT alert_id, severity, state, first_fired_at AS since FROM finance_alerts ${where}
       ORDER BY severity, first_fired_at DESC, alert_id LIMIT ?`,
    )
    .all(...values, limit) as (Omit<AlertSentence, 'summary'> & { alert_id: string })[];
  return found.map(({ alert_id: id, ...alert }) => {
    const { summary } = alertMoments(connection, alertRecord(connection, id)).now.notification;
    return { ...alert, summary };
  });
}
