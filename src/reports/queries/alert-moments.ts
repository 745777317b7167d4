import { compareFigures, creditsApart, figuresOf } from '../../alerts/book/alert-figures.ts';
import { createEvidence } from '../../alerts/evaluate/evidence.ts';
import { observation } from '../../alerts/evaluate/observation.ts';
import { projectedNow } from '../../alerts/evaluate/projected-now.ts';
import type { Told } from '../../alerts/notify/facts.ts';
import { buildNotification, type Notification } from '../../alerts/notify/notification.ts';
import { previousPeriodOf } from '../../alerts/notify/publisher.ts';
import { clear, type RuleName, type UsageFigures } from '../../alerts/rules/rule.ts';
import { parseExact } from '../../core/text/exact-json.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import type { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { periodOfKey } from '../../ledger/store/schema/keys.ts';
import type { Exact, SqlRow } from '../../ledger/store/schema/rows.ts';
import type { AlertRecord } from './alert-record.ts';
import { phaseOf } from './phase.ts';

/** An alert at one moment: all figures, and what is worked out from them, are of it. */
export interface AlertMoment {
  /** ISO-8601 UTC. */
  at: string;
  notification: Told & { summary: string };
}

export interface AlertMoments {
  /** As it was last told; null when nobody was. */
  told: AlertMoment | null;
  /** As the last complete run has left the ledger. */
  now: AlertMoment;
}

type AlertTableRow = Exact<SqlRow<typeof alerts>>;
type SubjectRow = AlertTableRow & { last_run_at: string | null };

/** What was last told of an alert, and what there is to tell of it now. */
export function alertMoments(connection: LedgerConnection, { alert }: AlertRecord): AlertMoments {
  const row = connection
    .prepare(
      `SELECT *,
         (SELECT max(finished_at) FROM runs r WHERE r.workspace_key = a.workspace_key AND r.status = 'applied') AS last_run_at
       FROM alerts a WHERE alert_id = ?`,
    )
    .safeIntegers()
    .get(alert.alert_id) as SubjectRow;
  const last = lastTold(connection, row.alert_key);
  const at = row.last_run_at ?? alert.last_changed_at;
  const figures = observe(connection, row, alert, at);
  const seen = { ...figures, projected: projectedNow(connection, Number(row.workspace_key), figures, alert.stage, at) };
  const resolved = alert.state === 'resolved';
  const { tenant_id: tenantId } = alert;
  const evidence = createEvidence(connection, creditPricer(connection, alert.workspace_id))(seen, {
    ...{ tenantId, planned: last?.notification.evidence.planned_credits ?? null },
  });
  // How a threshold was built is told once; it stands for as long as the threshold does.
  const built = last?.notification.evidence.threshold ?? null;
  const notification = buildNotification({
    ...{ notificationId: '', type: resolved ? 'alert.resolved' : 'alert.firing', alertId: alert.alert_id },
    ...{ rule: seen.rule, ruleVersion: Number(alert.rule_version), level: Number(row.level), state: alert.state },
    stage: alert.stage as Told['stage'],
    severity: alert.severity as Told['severity'],
    ...{ workspaceId: alert.workspace_id, tenantId, tenantName: alert.tenant_name, period: alert.period },
    ...{ previousPeriod: previousPeriodOf(seen), previous: seen.previous, current: seen.current },
    ...{ threshold: alert.threshold, runId: null, createdAt: at },
    evidence: {
      ...evidence,
      threshold: evidence.threshold ?? (built?.credits === alert.threshold ? built : null),
    },
  });
  // Why it was resolved is said once: the figures may have moved on since.
  const ending = resolved && last?.notification.type === 'alert.resolved' ? { summary: last.notification.summary } : {};
  return { told: last, now: { at, notification: { ...notification, ...ending } } };
}

/** The last notification of an alert that any channel was to get. */
function lastTold(connection: LedgerConnection, alertKey: bigint): AlertMoment | null {
  const payload = connection
    .prepare(
      'SELECT payload FROM outbox WHERE alert_key = ? AND revision IS NOT NULL ORDER BY revision DESC, channel LIMIT 1',
    )
    .pluck()
    .get(alertKey) as string | undefined;
  if (payload === undefined) return null;
  const notification = parseExact(payload) as Notification;
  return { at: notification.created_at, notification };
}

/** The figures as they stand. Rules that compare two readings of one period keep the earlier one with the alert. */
function observe(connection: LedgerConnection, row: SubjectRow, alert: AlertRecord['alert'], at: string) {
  const rule = alert.rule as RuleName;
  const subject = {
    rule,
    periodKey: row.period_key === null ? null : Number(row.period_key),
    tenantKey: row.tenant_key === null ? null : Number(row.tenant_key),
  };
  const seen = observation({
    ...{ ...subject, judgement: clear(true), detail: row.detail },
    members: rule === 'incident' ? membersOf(connection, row.alert_key) : [],
    ...figuresOf(row),
    phase: subject.periodKey === null ? null : phaseOf(periodOfKey(subject.periodKey), Date.parse(at)),
  });
  if (subject.periodKey === null || subject.tenantKey === null) return seen;
  const usageOf = connection
    .prepare('SELECT credits_used, request_count FROM tenant_usage WHERE period_key = ? AND tenant_key = ?')
    .safeIntegers()
    .raw();
  const read = (periodKey: number): UsageFigures | null => {
    const found = usageOf.get(periodKey, subject.tenantKey) as [bigint, bigint] | undefined;
    return found === undefined ? null : { credits: found[0], requests: found[1] };
  };
  const samePeriod = previousPeriodOf(seen) === alert.period;
  return {
    ...seen,
    current: read(subject.periodKey) ?? { credits: 0n, requests: 0n },
    previous: samePeriod ? seen.previous : read(subject.periodKey - 1),
  };
}

/** The tenants whose alerts belong to an incident, those with the most at stake first. */
function membersOf(connection: LedgerConnection, incidentKey: bigint): string[] {
  const rows = connection
    .prepare(
      'SELECT a.*, t.tenant_id FROM alerts a JOIN tenants t USING (tenant_key) WHERE a.incident_key = ? ORDER BY a.tenant_key',
    )
    .safeIntegers()
    .all(incidentKey) as (AlertTableRow & { tenant_id: string })[];
  const members = rows.map((row) => ({ tenantId: row.tenant_id, stake: creditsApart(figuresOf(row)) }));
  members.sort((a, b) => compareFigures(b.stake, a.stake));
  return [...new Set(members.map(({ tenantId }) => tenantId))];
}
