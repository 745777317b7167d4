import { localSummary } from '../../alerts/messages/facts/phrases.ts';
import { mutedWords } from '../../alerts/messages/muted.ts';
import { createAlertMoments } from '../../alerts/queries/alert-moments.ts';
import { findListedAlerts } from '../../alerts/queries/alerts.ts';
import { headOfChain } from '../../ledger/journal/runs/digest.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { and, desc, eq, isNotNull, query } from '../../ledger/store/schema/drizzle.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { workspaces } from '../../ledger/store/schema/workspace-tables.ts';

export interface PageOrigin {
  runId: string | null;
  /** The last link of the ledger's chain and its digest. `verify` computes this digest again. */
  head: { seq: number; digest: string };
}

/**
 * Reads the run and the chain head that the page names as the source of its figures. The caller must use the read
 * transaction in which it reads the figures.
 */
export function readOrigin(connection: LedgerDb, workspaceId: string): PageOrigin {
  const applied = query(connection)
    .select({ runId: runs.runId })
    .from(runs)
    .innerJoin(workspaces, eq(workspaces.workspaceKey, runs.workspaceKey))
    .where(and(eq(workspaces.workspaceId, workspaceId), isNotNull(runs.appliedSeq)));
  const last = applied.orderBy(desc(runs.runKey)).limit(1).get();
  return { runId: last?.runId ?? null, head: headOfChain(connection) };
}

interface AlertSentence {
  severity: string;
  state: string;
  since: string | null;
  /** Why nobody is notified about the alert; null if somebody is. */
  muted: string | null;
  summary: string;
}

export interface PageAlerts {
  /** The alerts to show, in the order of `usage-ledger alerts`. */
  alerts: AlertSentence[];
  moreAlerts: number;
}

/**
 * Returns the open alerts of a workspace or of one of its tenants. Margin alerts of a tenant are left out, because a
 * tenant's page must not show costs.
 */
export function openAlerts(
  connection: LedgerDb,
  { timezone, ...subject }: { workspaceId: string; tenantId?: string; nowMs: number; timezone: string },
  limit: number,
): PageAlerts {
  const open = findListedAlerts(connection, { states: 'open', ...subject });
  const rows = open.filter(({ rule }) => subject.tenantId === undefined || rule !== 'margin');
  const momentsOf = createAlertMoments(connection, timezone);
  const alerts = rows.slice(0, limit).map((alert): AlertSentence => {
    return {
      severity: alert.severity,
      state: alert.state,
      since: alert.first_fired_at,
      muted: mutedWords(alert.muted_because),
      summary: localSummary(momentsOf(alert).now.notification),
    };
  });
  return { alerts, moreAlerts: rows.length - alerts.length };
}
