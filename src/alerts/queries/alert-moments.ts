import { parseExact } from '../../core/text/exact-json.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import type { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { and, desc, eq, query } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { runs, tenantUsage } from '../../ledger/store/schema/run-tables.ts';
import { NO_USAGE, type UsageFigures } from '../measures/judgement.ts';
import { MessageComposer } from '../notify/compose-message.ts';
import { previousPeriodOf } from '../notify/notification.ts';
import { type AlertFigures, figuresOf } from '../track/alert-figures.ts';
import { requireAlert } from '../track/alert-rows.ts';
import { readBasis } from '../track/basis.ts';
import { usageKind } from '../wording/kinds/table.ts';
import type { Facts, Notification } from '../wording/notification.ts';
import type { AlertRecord } from './alert-record.ts';

/** An alert at one moment: all figures, and what is worked out from them, are of it. */
export interface AlertMoment {
  /** ISO-8601 UTC. */
  at: string;
  notification: Facts & { summary: string };
}

export interface AlertMoments {
  /** As it was last told; null when nobody was. */
  told: AlertMoment | null;
  /** As the last complete run has left the ledger. */
  now: AlertMoment;
}

/** What was last told of an alert, and what there is to tell of it now. */
export function alertMoments(connection: LedgerConnection, { alert }: AlertRecord): AlertMoments {
  const row = requireAlert(connection, alert.alert_id);
  const told = lastTold(connection, alert.alert_id);
  const { workspaceKey } = row;
  const isApplied = and(eq(runs.workspaceKey, workspaceKey ?? 0), eq(runs.status, 'applied'));
  const lastRun = query(connection).select({ at: runs.finishedAt }).from(runs).where(isApplied);
  const at = lastRun.orderBy(desc(runs.runKey)).limit(1).get()?.at ?? alert.last_changed_at;
  const { workspace_id: workspaceId, tenant_id: tenantId } = alert;
  const composer = new MessageComposer({
    connection,
    workspaceKey,
    workspaceId,
    runKey: null,
    runId: null,
    actor: 'reader',
    seeding: false,
    at,
    nowMs: Date.parse(at),
    priceOf: workspaceId === null ? null : creditPricer(connection, workspaceId),
  });
  const read = { ...row, ...figuresNow(connection, row) };
  const evidence = composer.evidence(read, { tenantId, planned: told?.notification.evidence.planned_bounds ?? [] });
  const event = alert.state === 'resolved' ? 'closed' : 'opened';
  const { revision, toldTimes } = row;
  const place = { route: { channel: '' }, event, revision, toldTimes } as const;
  const notification = { ...composer.message(read, { tenantId, evidence }, place), state: alert.state };
  // Why it was resolved is said once: the figures may have moved on since.
  if (event === 'closed' && told?.notification.type === 'alert.resolved')
    notification.summary = told.notification.summary;
  return { told, now: { at, notification } };
}

/** The figures as they stand. Rules that compare with anything but the month before keep the earlier ones with the alert. */
function figuresNow(connection: LedgerConnection, row: typeof alerts.$inferSelect): AlertFigures {
  const kept = figuresOf(row);
  const { rule, periodKey, tenantKey, basis } = row;
  if (periodKey === null || tenantKey === null || usageKind(rule) === null) return kept;
  const { creditsUsed: credits, requestCount: requests } = tenantUsage;
  const read = (key: number): UsageFigures | null => {
    const isOwn = and(eq(tenantUsage.periodKey, key), eq(tenantUsage.tenantKey, tenantKey));
    return query(connection).select({ credits, requests }).from(tenantUsage).where(isOwn).get() ?? null;
  };
  const isBeside = previousPeriodOf({ rule, periodKey, built: readBasis(basis).built }) === periodOfKey(periodKey - 1);
  return {
    ...kept,
    current: read(periodKey) ?? NO_USAGE,
    previous: isBeside ? read(periodKey - 1) : kept.previous,
  };
}

/** The last message about an alert that any channel has, or may have. */
function lastTold(connection: LedgerConnection, alertId: string): AlertMoment | null {
  const last = connection
    .prepare(
      `SELECT d.payload FROM finance_alert_messages m JOIN deliveries d USING (notification_id)
       WHERE m.alert_id = ? AND m.outcome IN ('delivered', 'unknown') ORDER BY m.revision DESC, m.channel LIMIT 1`,
    )
    .pluck()
    .get(alertId) as string | undefined;
  const notification = last === undefined ? null : notificationIn(parseExact(last) as SentMessage, alertId);
  return notification === null ? null : { at: notification.created_at, notification };
}

/** A message about one alert, a group, or a daily summary. */
type SentMessage = Notification & { alerts?: (Notification & { notifications?: Notification[] })[] };

function notificationIn(message: SentMessage, alertId: string): Notification | null {
  if (message.alerts === undefined) return message;
  const all = message.alerts.flatMap((item) => item.notifications ?? [item]);
  return all.find(({ alert_id }) => alert_id === alertId) ?? null;
}
