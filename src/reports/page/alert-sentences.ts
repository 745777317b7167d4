import { alertMoments } from '../../alerts/queries/alert-moments.ts';
import { alertRows } from '../../alerts/queries/alerts.ts';
import { mutedWords } from '../../alerts/wording/muted.ts';
import { named } from '../../alerts/wording/names.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';

export interface AlertSentence {
  severity: string;
  state: string;
  since: string | null;
  muted: string | null;
  summary: string;
}

export interface PageAlerts {
  alerts: AlertSentence[];
  moreAlerts: number;
}

/** The open alerts of a workspace, or of one tenant of it: that page says nothing of what the tenant costs. */
export function openAlerts(
  connection: LedgerConnection,
  subject: { workspaceId: string; tenantId?: string },
  limit: number,
): PageAlerts {
  const open = alertRows(connection, { states: 'open', ...subject });
  const rows = open.filter(({ rule }) => subject.tenantId === undefined || rule !== 'margin');
  const momentsOf = alertMoments(connection);
  const place = `${named(subject.workspaceId)}: `;
  const alerts = rows.slice(0, limit).map((alert): AlertSentence => {
    const { summary } = momentsOf(alert).now.notification;
    return {
      severity: alert.severity,
      state: alert.state,
      since: alert.first_fired_at,
      muted: mutedWords(alert.muted_because),
      summary: summary.startsWith(place) ? summary.slice(place.length) : summary,
    };
  });
  return { alerts, moreAlerts: rows.length - alerts.length };
}
