import type Database from 'better-sqlite3';
import type { Period } from '../core/period.ts';
import { periodOfKey } from '../ledger/keys.ts';
import { AlertRows, figuresOf, type StoredAlert, type SubjectNames, shortHash } from './alert-rows.ts';
import { createEvidence, type Evidence, renderEvidence } from './evidence.ts';
import { type AlertChangeKind, advance, OPEN_STATES } from './lifecycle.ts';
import { readMutes } from './mutes.ts';
import { buildNotification, type NotificationType, renderPayload } from './notification.ts';
import { type Observation, observation } from './observation.ts';
import { judgeIncident } from './rules/incident.ts';
import { clear, RULE_VERSION, type RuleName, SELF_RULES, type Severity, STAGE_RANK, type Stage } from './rules/rule.ts';

/** One change of an alert that a run has made. Figures are credits; null for alerts about ourselves. */
export interface AlertChange {
  alertId: string;
  change: AlertChangeKind;
  rule: RuleName;
  stage: Stage;
  severity: Severity;
  tenantId: string | null;
  period: Period | null;
  previousCredits: bigint | null;
  currentCredits: bigint | null;
  threshold: bigint | null;
  /** Nobody is told, for the reason beside it. */
  silent: boolean;
  silentBecause: string | null;
}

export interface RunAlerts {
  changes: AlertChange[];
  /** Outbox rows that were written. */
  notificationIds: string[];
}

/** Who looks at the alerts of which workspace, and when. */
export interface BookContext {
  connection: Database.Database;
  workspaceKey: number;
  workspaceId: string;
  /** Null when no run is the cause. */
  runKey: number | null;
  runId: string | null;
  actor: 'run' | 'timer';
  /** The first sync of a workspace records what it finds and tells nobody. */
  seeding: boolean;
  /** `nowMs` as ISO-8601 UTC. */
  at: string;
  nowMs: number;
  /** Names of the channels that are told. */
  channels: readonly string[];
}

interface Draft {
  alert: StoredAlert;
  change: AlertChangeKind;
  seen: Observation;
  names: SubjectNames;
}

const NOTIFICATION_TYPES: Partial<Record<AlertChangeKind, NotificationType>> = {
  fired: 'alert.firing',
  escalated: 'alert.escalated',
  grown: 'alert.escalated',
  resolved: 'alert.resolved',
};
const NEWS: readonly AlertChangeKind[] = ['fired', 'escalated', 'grown'];

/** A fault of ourselves that explains another keeps it quiet; of the same rank they stand side by side. */
const SELF_RANK: Partial<Record<RuleName, number>> = { sync_stale: 1, sync_failed: 2, auth_failed: 3, clock_skew: 3 };

/**
 * The alerts of one workspace while something looks at them: `observe` moves each by what its rule says, and `finish`
 * decides who hears of it, because only all changes together show an incident. To be used inside one transaction.
 */
export class AlertBook {
  readonly #context: BookContext;
  readonly #rows: AlertRows;
  readonly #tenantId: Database.Statement;
  readonly #evidenceOf: (seen: Observation) => Evidence;
  #drafts: Draft[] = [];

  constructor(context: BookContext) {
    this.#context = context;
    this.#rows = new AlertRows(context.connection, context.workspaceKey);
    this.#tenantId = context.connection.prepare('SELECT tenant_id FROM tenants WHERE tenant_key = ?').pluck();
    this.#evidenceOf = createEvidence(context.connection);
  }

  /** The alerts that have not ended. */
  open(): StoredAlert[] {
    return this.#rows.open();
  }

  tenantId(tenantKey: number): string {
    return String(this.#tenantId.get(tenantKey));
  }

  /** Records what a rule says of its subject. The same said twice changes nothing. */
  observe(seen: Observation, known: StoredAlert | null = this.#rows.find(seen)): void {
    const { at, nowMs, runKey, seeding } = this.#context;
    const next = advance(known, seen.judgement, { nowMs, runKey, seeding });
    if (next === null) return;
    const names = this.#names(seen);
    const severity =
      seen.judgement.verdict === 'holds' ? seen.judgement.finding.severity : (known?.severity ?? 'warning');
    const stored = known ?? this.#rows.insert(seen, names, next.status, severity, at);
    const alert: StoredAlert = { ...stored, ...next.status, ...figuresOf(seen), severity };
    if (next.change !== null) {
      alert.revision += 1;
      alert.lastChangedAt = at;
      if (next.change === 'fired') alert.firstFiredAt ??= at;
      this.#drafts.push({ alert, change: next.change, seen, names });
    }
    if (known === null || differs(known, alert)) this.#rows.write(alert, seen.detail);
  }

  /** Ends an alert whose period nobody looks at any more. */
  expire(alert: StoredAlert): void {
    const { at } = this.#context;
    const expired: StoredAlert = { ...alert, state: 'expired', revision: alert.revision + 1, lastChangedAt: at };
    this.#rows.write(expired, null);
    const seen = observation({ ...expired, judgement: clear(true), ...figuresAsSeen(expired) });
    this.#drafts.push({ alert: expired, change: 'expired', seen, names: this.#names(expired) });
  }

  /** Writes the transitions and, for what somebody must hear of, an outbox row a channel. */
  finish(): RunAlerts {
    if (!this.#context.seeding) this.#gatherIncidents();
    this.#endIncidents();
    const outcome: RunAlerts = { changes: [], notificationIds: [] };
    const silence = this.#silencer();
    for (const draft of this.#drafts) this.#publish(draft, silence(draft), outcome);
    this.#drafts = [];
    return outcome;
  }

  #gatherIncidents(): void {
    const { connection, workspaceKey, nowMs } = this.#context;
    const mutes = readMutes(connection, workspaceKey, nowMs);
    const byPeriod = new Map<number, Draft[]>();
    for (const draft of this.#drafts) {
      const { periodKey, tenantKey } = draft.alert;
      if (!NEWS.includes(draft.change) || periodKey === null || tenantKey === null) continue;
      if (mutes(muteSubject(draft)) !== null) continue;
      const drafts = byPeriod.get(periodKey) ?? [];
      drafts.push(draft);
      byPeriod.set(periodKey, drafts);
    }
    const countTenants = connection
      .prepare('SELECT count(*) FROM tenant_usage WHERE period_key = ? AND withdrawn = 0')
      .pluck();
    for (const [periodKey, drafts] of byPeriod) {
      const stages = highestStages(drafts);
      const judgement = judgeIncident({ stages, tenants: Number(countTenants.get(periodKey)) });
      if (judgement === null) continue;
      const members = [...new Set(drafts.map(({ names }) => names.tenantId ?? ''))];
      this.observe(observation({ rule: 'incident', periodKey, tenantKey: null, judgement, members }));
      const incident = this.#rows.find({ rule: 'incident', periodKey, tenantKey: null });
      for (const draft of drafts) {
        draft.alert.incidentKey = incident?.alertKey ?? null;
        this.#rows.write(draft.alert, null);
      }
    }
  }

  /** An incident is over when none of its alerts is open: resolved with the last of them, or forgotten like them. */
  #endIncidents(): void {
    const { connection, workspaceKey } = this.#context;
    const ended = connection
      .prepare(
        `SELECT i.alert_key FROM alerts i
         WHERE i.workspace_key = ? AND i.rule = 'incident' AND i.state IN ('pending', 'firing', 'acknowledged')
           AND NOT EXISTS (SELECT 1 FROM alerts a WHERE a.incident_key = i.alert_key
             AND a.state IN ('pending', 'firing', 'acknowledged'))`,
      )
      .pluck()
      .all(workspaceKey) as number[];
    for (const alertKey of ended) {
      const incident = this.#rows.byKey(alertKey);
      if (incident === null) continue;
      const resolved = this.#drafts.some(
        (draft) => draft.change === 'resolved' && draft.alert.incidentKey === alertKey,
      );
      if (resolved) this.observe(observation({ ...incident, judgement: clear(true), ...NO_FIGURES }), incident);
      else this.expire(incident);
    }
  }

  /** Why nobody hears of a change; null when somebody does. */
  #silencer(): (draft: Draft) => string | null {
    const { connection, workspaceKey, nowMs, seeding } = this.#context;
    const mutes = readMutes(connection, workspaceKey, nowMs);
    const faults = this.#rows.open().filter(({ rule, state }) => isSelf(rule) && state !== 'pending');
    const heard = connection.prepare(
      `SELECT 1 FROM alert_transitions WHERE alert_key = @alertKey AND silent = 0 AND revision >= (
         SELECT max(revision) FROM alert_transitions WHERE alert_key = @alertKey AND change = 'fired')`,
    );
    const incidents = new Map<number, StoredAlert | null>();
    return (draft) => {
      const { alert, change } = draft;
      if (seeding) return 'seed';
      if (change === 'resolved') return heard.get({ alertKey: alert.alertKey }) === undefined ? 'unheard' : null;
      if (!NEWS.includes(change)) return 'quiet';
      const fault = faults.find(({ rule }) => (SELF_RANK[rule] ?? 0) > (SELF_RANK[alert.rule] ?? 0));
      if (fault !== undefined) return `inhibited:${fault.alertId}`;
      const silence = mutes(muteSubject(draft));
      if (silence !== null) return `silence:${silence}`;
      if (alert.incidentKey === null) return null;
      const incident = incidents.get(alert.incidentKey) ?? this.#rows.byKey(alert.incidentKey);
      incidents.set(alert.incidentKey, incident);
      return incident !== null && OPEN_STATES.includes(incident.state) ? `incident:${incident.alertId}` : null;
    };
  }

  #publish(draft: Draft, silentBecause: string | null, outcome: RunAlerts): void {
    const { connection, runKey, actor, at } = this.#context;
    const { alert, change, seen, names } = draft;
    const type = NOTIFICATION_TYPES[change];
    const told = silentBecause === null && type !== undefined;
    const evidence = told ? this.#evidenceOf(seen) : null;
    connection
      .prepare(
        `INSERT INTO alert_transitions (alert_key, revision, change, state, stage, run_key, actor, at, current_credits,
           silent, silent_because, evidence)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        ...[alert.alertKey, alert.revision, change, alert.state, alert.stage, runKey, actor, at, alert.currentCredits],
        ...[told ? 0 : 1, silentBecause, evidence === null ? null : renderEvidence(evidence)],
      );
    outcome.changes.push({
      ...{ alertId: alert.alertId, change, rule: alert.rule, stage: alert.stage, severity: alert.severity },
      ...{ tenantId: names.tenantId, period: names.period },
      ...{ previousCredits: alert.previousCredits, currentCredits: alert.currentCredits, threshold: alert.threshold },
      ...{ silent: !told, silentBecause },
    });
    if (evidence === null || type === undefined) return;
    for (const channel of this.#context.channels) {
      const notificationId = `msg_${shortHash(JSON.stringify([alert.alertId, alert.revision, channel]), 32)}`;
      const notification = buildNotification({
        ...{ notificationId, type, alertId: alert.alertId, rule: alert.rule, ruleVersion: RULE_VERSION[alert.rule] },
        ...{ stage: alert.stage, level: alert.level, severity: alert.severity, state: alert.state },
        ...{ ...names, previousPeriod: previousPeriodOf(seen), previous: seen.previous, current: seen.current },
        ...{ threshold: alert.threshold, evidence, runId: this.#context.runId, createdAt: at },
      });
      connection
        .prepare(
          `INSERT INTO outbox (notification_id, alert_key, channel, payload, state, created_at, next_attempt_at)
           VALUES (?, ?, ?, ?, 'pending', ?, ?)`,
        )
        .run(notificationId, alert.alertKey, channel, renderPayload(notification), at, at);
      outcome.notificationIds.push(notificationId);
    }
  }

  #names({ tenantKey, periodKey }: { tenantKey: number | null; periodKey: number | null }): SubjectNames {
    return {
      workspaceId: this.#context.workspaceId,
      tenantId: tenantKey === null ? null : this.tenantId(tenantKey),
      period: periodKey === null ? null : periodOfKey(periodKey),
    };
  }
}

/** These compare two readings of one period. */
const SAME_PERIOD: readonly RuleName[] = ['regression', 'restatement', 'withdrawn'];

function previousPeriodOf({ rule, periodKey }: Observation): Period | null {
  if (periodKey === null || rule === 'incident') return null;
  return periodOfKey(SAME_PERIOD.includes(rule) ? periodKey : periodKey - 1);
}

const NO_FIGURES = { previous: null, current: null, threshold: null };

function figuresAsSeen(alert: StoredAlert): Partial<Observation> {
  const { previousCredits, previousRequests, currentCredits, currentRequests, threshold } = alert;
  const pair = (credits: bigint | null, requests: bigint | null) => {
    return credits === null || requests === null ? null : { credits, requests };
  };
  return {
    previous: pair(previousCredits, previousRequests),
    current: pair(currentCredits, currentRequests),
    threshold,
  };
}

function muteSubject({ alert, names }: Draft) {
  return { rule: alert.rule, tenantId: names.tenantId, period: names.period, credits: alert.currentCredits };
}

function highestStages(drafts: readonly Draft[]): Stage[] {
  const byTenant = new Map<number | null, Stage>();
  for (const { alert } of drafts) {
    const known = byTenant.get(alert.tenantKey);
    if (known === undefined || STAGE_RANK[alert.stage] > STAGE_RANK[known]) byTenant.set(alert.tenantKey, alert.stage);
  }
  return [...byTenant.values()];
}

function isSelf(rule: RuleName): boolean {
  return (SELF_RULES as readonly RuleName[]).includes(rule);
}

function differs(before: StoredAlert, after: StoredAlert): boolean {
  return (Object.keys(after) as (keyof StoredAlert)[]).some((key) => before[key] !== after[key]);
}
