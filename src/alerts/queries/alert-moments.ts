import { parseExact } from '../../core/text/exact-json.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import type { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { and, desc, eq, query } from '../../ledger/store/schema/drizzle.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import { runs, tenantUsage } from '../../ledger/store/schema/run-tables.ts';
import { clear, type UsageFigures } from '../measures/judgement.ts';
import { observation } from '../measures/observation.ts';
import { phaseOf } from '../measures/phase.ts';
import { createEvidence } from '../notify/evidence.ts';
import { buildNotification, comparedKey, previousPeriodOf } from '../notify/notification.ts';
import { figuresOf } from '../track/alert-figures.ts';
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

type StoredAlert = typeof alerts.$inferSelect;

/** What was last told of an alert, and what there is to tell of it now. */
export function alertMoments(connection: LedgerConnection, { alert }: AlertRecord): AlertMoments {
  const row = requireAlert(connection, alert.alert_id);
  const last = lastTold(connection, alert.alert_id);
  const isApplied = and(eq(runs.workspaceKey, row.workspaceKey ?? 0), eq(runs.status, 'applied'));
  const lastRun = query(connection)
    .select({ at: runs.finishedAt })
    .from(runs)
    .where(isApplied)
    .orderBy(desc(runs.runKey))
    .limit(1)
    .get();
  const at = lastRun?.at ?? alert.last_changed_at;
  const figures = observe(connection, row, alert, at, last?.notification.previous_period ?? null);
  const seen = { ...figures, forecast: readBasis(row.basis).forecast };
  const resolved = alert.state === 'resolved';
  const { tenant_id: tenantId } = alert;
  const priceOf = alert.workspace_id === null ? null : creditPricer(connection, alert.workspace_id);
  const evidence = createEvidence(connection, priceOf)(seen, {
    tenantId,
    planned: last?.notification.evidence.planned_bounds ?? [],
  });
  // How a threshold was built is told once; it stands for as long as the threshold does.
  const built = last?.notification.evidence.threshold ?? null;
  const notification = buildNotification({
    notification_id: '',
    type: resolved ? 'alert.resolved' : 'alert.firing',
    alert_id: alert.alert_id,
    event: resolved ? 'closed' : 'opened',
    revision: row.revision,
    episode: row.episode,
    closed_because: null,
    rule: seen.rule,
    cause: row.cause,
    rule_version: row.ruleVersion,
    told_times: row.toldTimes,
    level: row.level,
    severity: row.severity,
    state: alert.state,
    workspace_id: alert.workspace_id,
    tenant_id: tenantId,
    tenant_name: alert.tenant_name,
    period: alert.period,
    previous_period: last?.notification.previous_period ?? previousPeriodOf(seen),
    previous: seen.previous,
    current: seen.current,
    threshold: alert.threshold,
    run_id: null,
    began_at: row.beganAt,
    read_at: alert.period === null ? null : at,
    created_at: at,
    public_url: null,
    acknowledge_link: null,
    evidence: {
      ...evidence,
      threshold: evidence.threshold ?? (built?.credits === alert.threshold ? built : null),
    },
  });
  // Why it was resolved is said once: the figures may have moved on since.
  const ending = resolved && last?.notification.type === 'alert.resolved' ? { summary: last.notification.summary } : {};
  return { told: last, now: { at, notification: { ...notification, ...ending } } };
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

/** The figures as they stand. Rules that compare two readings of one period keep the earlier one with the alert. */
function observe(
  connection: LedgerConnection,
  row: StoredAlert,
  alert: AlertRecord['alert'],
  at: string,
  toldBeside: string | null,
) {
  const { rule, periodKey, tenantKey, detail } = row;
  const seen = observation({
    rule,
    periodKey,
    tenantKey,
    judgement: clear(true),
    detail,
    ...figuresOf(row),
    phase: periodKey === null ? null : phaseOf(periodOfKey(periodKey), Date.parse(at)),
  });
  const compares = usageKind(rule);
  if (periodKey === null || tenantKey === null || compares === null) return seen;
  const { creditsUsed: credits, requestCount: requests } = tenantUsage;
  const read = (key: number): UsageFigures | null => {
    const isOwn = and(eq(tenantUsage.periodKey, key), eq(tenantUsage.tenantKey, tenantKey));
    return query(connection).select({ credits, requests }).from(tenantUsage).where(isOwn).get() ?? null;
  };
  const monthBefore = previousPeriodOf(seen);
  const isKept = monthBefore === alert.period || (toldBeside !== null && toldBeside !== monthBefore);
  return {
    ...seen,
    current: read(periodKey) ?? { credits: 0n, requests: 0n },
    previous: isKept ? seen.previous : read(comparedKey(compares, periodKey)),
  };
}
