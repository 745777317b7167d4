import { alertMoments } from '../../alerts/queries/alert-moments.ts';
import type { AlertRow } from '../../alerts/queries/alerts.ts';
import { mutedWords } from '../../alerts/wording/muted.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { whereClause } from '../../ledger/store/where.ts';

export interface AlertSentence {
  severity: string;
  state: string;
  since: string | null;
  /** Why nobody is told; null where somebody is. */
  muted: string | null;
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
    .prepare(`SELECT * FROM finance_alerts ${where} ORDER BY severity, first_fired_at DESC, alert_id LIMIT ?`)
    .safeIntegers()
    .all(...values, limit) as AlertRow[];
  const momentsOf = alertMoments(connection);
  return found.map((alert) => ({
    severity: alert.severity,
    state: alert.state,
    since: alert.first_fired_at,
    muted: mutedWords(alert.muted_because),
    summary: momentsOf(alert).now.notification.summary,
  }));
}
