import { oncePerKey } from '../../core/one-at-a-time.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import { UTC } from '../../core/time-zone.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import { figuresReader } from '../../ledger/store/key-figures.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import type { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { and, desc, eq, query } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { runs } from '../../ledger/store/schema/run-tables.ts';
import { findWorkspace } from '../../ledger/store/subjects.ts';
import { NO_USAGE } from '../figures/usage-figures.ts';
import { MessageComposer } from '../messages/compose.ts';
import type { Facts, Notification } from '../messages/facts/facts.ts';
import { previousPeriodOf } from '../messages/notification.ts';
import { usageKind } from '../rules/rules.ts';
import { type AlertFigures, toAlertFigures } from '../state/alert-figures.ts';
import { requireAlert } from '../state/alert-store.ts';
import { parseSnapshot } from '../state/rule-snapshot.ts';
import type { AlertRow } from './alerts.ts';

/** An alert as it was, or is, at one moment: its message and all of its figures. */
export interface AlertMoment {
  at: string;
  notification: Facts & Pick<Notification, 'title' | 'lines' | 'summary'>;
}

export interface AlertMoments {
  /** The alert as in its last notification; null if there was none. */
  notified: AlertMoment | null;
  /** The alert as of the last complete run. */
  now: AlertMoment;
}

/**
 * Creates a function that returns an alert as last notified and as it is now. Its sentences give dates in `timezone`.
 * Facts that alerts of a workspace share are read once.
 */
export function createAlertMoments(connection: LedgerDb, timezone = UTC): (alert: AlertRow) => AlertMoments {
  const readAtOf = oncePerKey((workspaceKey: number | null) => {
    const isApplied = and(eq(runs.workspaceKey, workspaceKey ?? 0), eq(runs.status, 'applied'));
    const lastRun = query(connection).select({ at: runs.finishedAt }).from(runs).where(isApplied);
    return lastRun.orderBy(desc(runs.runKey)).limit(1).get()?.at ?? null;
  });
  const lastNotified = createLastNotified(connection);
  const composersOf = oncePerKey((workspaceId: string | null) =>
    oncePerKey((at: string) => createComposer(connection, workspaceId, at)),
  );
  return (alert) => {
    const row = requireAlert(connection, alert.alert_id);
    const notified = lastNotified(alert.alert_id);
    const at = readAtOf(row.workspaceKey) ?? alert.last_changed_at;
    const composer = composersOf(alert.workspace_id)(at);
    const read = { ...row, ...figuresNow(connection, row) };
    const { tenant_id: tenantId, state } = alert;
    const evidence = composer.evidence(read, {
      tenantId,
      planned: notified?.notification.evidence.planned_bounds ?? [],
    });
    const event = state === 'resolved' ? 'closed' : 'opened';
    const { revision, notifiedCount } = row;
    const place = { route: { channel: '', timezone }, event, revision, notifiedCount } as const;
    const notification = { ...composer.message(read, { tenantId, evidence }, place), state };
    // The message about the end gave its reason. Figures have changed since, so a new sentence might contradict it.
    if (event === 'closed' && notified?.notification.type === 'alert.resolved') {
      const { title, lines, summary } = notified.notification;
      return { notified, now: { at, notification: { ...notification, title, lines, summary } } };
    }
    return { notified, now: { at, notification } };
  };
}

function createComposer(connection: LedgerDb, workspaceId: string | null, at: string): MessageComposer {
  const workspaceKey = workspaceId === null ? null : (findWorkspace(connection, workspaceId)?.workspaceKey ?? null);
  return new MessageComposer({
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
}

/** Returns the current figures. If the alert compares with another month than the previous one, that figure is kept. */
function figuresNow(connection: LedgerDb, row: typeof alerts.$inferSelect): AlertFigures {
  const kept = toAlertFigures(row);
  const { rule, periodKey, tenantKey, basis } = row;
  if (periodKey === null || tenantKey === null || usageKind(rule) === null) return kept;
  const read = (key: number) => figuresReader(connection)(key, tenantKey) ?? null;
  const isBeside =
    previousPeriodOf({ rule, periodKey, built: parseSnapshot(basis).built }) === periodOfKey(periodKey - 1);
  return {
    ...kept,
    current: read(periodKey) ?? NO_USAGE,
    previous: isBeside ? read(periodKey - 1) : kept.previous,
  };
}

/**
 * Creates a function that returns the latest message about an alert that any channel has or may have. A message about
 * several alerts is read once.
 */
function createLastNotified(connection: LedgerDb): (alertId: string) => AlertMoment | null {
  const lastOf = connection
    .prepare(
      `SELECT notification_id FROM finance_alert_messages
       WHERE alert_id = ? AND outcome IN ('delivered', 'unknown') ORDER BY revision DESC, channel LIMIT 1`,
    )
    .pluck();
  const payloadOf = connection.prepare('SELECT payload FROM deliveries WHERE notification_id = ?').pluck();
  const messageOf = oncePerKey((id: string) => parseExact(payloadOf.get(id) as string) as SentMessage);
  return (alertId) => {
    const last = lastOf.get(alertId) as string | undefined;
    const notification = last === undefined ? null : notificationIn(messageOf(last), alertId);
    return notification === null ? null : { at: notification.created_at, notification };
  };
}

/** A message about one alert, a group, or a daily summary. */
type SentMessage = Notification & { alerts?: (Notification & { notifications?: Notification[] })[] };

function notificationIn(message: SentMessage, alertId: string): Notification | null {
  if (message.alerts === undefined) return message;
  const all = message.alerts.flatMap((item) => item.notifications ?? [item]);
  return all.find(({ alert_id }) => alert_id === alertId) ?? null;
}
