import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { addPeriods } from '../core/period.ts';
import type { MergedRun } from '../ledger/apply-run.ts';
import { periodOfKey } from '../ledger/keys.ts';
import { type AlertState, buildNotification, type NotificationType, renderPayload } from './notification.ts';
import { JUMP_RULE_VERSION, type JumpFinding, type JumpStage, type UsageFigures } from './rules/jump.ts';

/** One alert that the run fired, moved to a higher stage or resolved. */
export interface AlertChange {
  alertId: string;
  change: 'fired' | 'escalated' | 'resolved';
  tenantId: string;
  period: string;
  stage: string;
  previousCredits: bigint;
  currentCredits: bigint;
  threshold: bigint;
  /** The first sync of a workspace records what it finds and tells nobody. */
  silent: boolean;
}

export interface RunAlerts {
  changes: AlertChange[];
  /** Outbox rows that were written. */
  notificationIds: string[];
}

/** A tenant in a period, with the figures that a rule compares. */
export interface Subject {
  periodKey: number;
  tenantKey: number;
  current: UsageFigures;
  previous: UsageFigures;
}

export interface OpenAlert extends Subject {
  stage: JumpStage;
}

interface StoredAlert {
  alertKey: number;
  alertId: string;
  stage: JumpStage;
  state: AlertState;
  revision: number;
}

const STAGE_RANK: Record<JumpStage, number> = { certain: 1, final: 2 };
const OPEN_STATES: readonly AlertState[] = ['pending', 'firing', 'acknowledged'];

/**
 * The alerts of one workspace while a run is applied: one alert a (rule, tenant, period), every change a transition,
 * and an outbox row a channel for each change that somebody must hear of.
 */
export class AlertStore {
  readonly #connection: Database.Database;
  readonly #merged: MergedRun;
  readonly #channels: readonly string[];
  readonly #outcome: RunAlerts = { changes: [], notificationIds: [] };

  constructor(merged: MergedRun, channels: readonly string[]) {
    this.#connection = merged.connection;
    this.#merged = merged;
    this.#channels = channels;
  }

  /** Records that the rule holds: a new alert, a higher stage, one that fires again, or only newer figures. */
  fire(subject: Subject, finding: JumpFinding): void {
    const stored = this.#find(subject);
    const { threshold, stage, severity } = finding;
    if (stored === null) {
      const alert = this.#insert(subject, finding);
      this.#transition(alert, subject, 'fired', threshold, this.#merged.run.first);
    } else if (!OPEN_STATES.includes(stored.state)) {
      const again = { ...stored, stage, state: 'firing' as const, revision: stored.revision + 1 };
      this.#update(again, subject, threshold, severity);
      this.#transition(again, subject, 'fired', threshold, false);
    } else if (STAGE_RANK[stage] > STAGE_RANK[stored.stage]) {
      const higher = { ...stored, stage, revision: stored.revision + 1 };
      this.#update(higher, subject, threshold, severity);
      this.#transition(higher, subject, 'escalated', threshold, false);
    } else {
      this.#update(stored, subject, threshold, severity);
    }
  }

  /** Records that the cause is gone. Somebody hears of it only if somebody heard of the alert. */
  resolve(alert: OpenAlert, threshold: bigint): void {
    const stored = this.#find(alert);
    if (stored === null) return;
    const heard = this.#connection
      .prepare('SELECT 1 FROM alert_transitions WHERE alert_key = ? AND silent = 0')
      .get(stored.alertKey);
    const resolved = { ...stored, state: 'resolved' as const, revision: stored.revision + 1 };
    this.#update(resolved, alert, threshold, 'critical');
    this.#transition(resolved, alert, 'resolved', threshold, heard === undefined);
  }

  /** The alerts that have not ended, with the figures as they stand now. */
  openAlerts(): OpenAlert[] {
    const rows = this.#connection
      .prepare(
        `SELECT a.period_key, a.tenant_key, cur.credits_used, cur.request_count, prev.credits_used, prev.request_count,
           a.stage
         FROM alerts a
         JOIN tenant_usage cur ON cur.period_key = a.period_key AND cur.tenant_key = a.tenant_key
         JOIN tenant_usage prev ON prev.period_key = a.period_key - 1 AND prev.tenant_key = a.tenant_key
         WHERE a.workspace_key = ? AND a.rule = 'jump' AND a.state IN ('pending', 'firing', 'acknowledged')`,
      )
      .safeIntegers()
      .raw()
      .all(this.#merged.run.workspaceKey) as [bigint, bigint, bigint, bigint, bigint, bigint, JumpStage][];
    return rows.map(([periodKey, tenantKey, credits, requests, previousCredits, previousRequests, stage]) => ({
      periodKey: Number(periodKey),
      tenantKey: Number(tenantKey),
      current: { credits, requests },
      previous: { credits: previousCredits, requests: previousRequests },
      stage,
    }));
  }

  outcome(): RunAlerts {
    return this.#outcome;
  }

  #find(subject: Subject): StoredAlert | null {
    const row = this.#connection
      .prepare(
        `SELECT alert_key AS alertKey, alert_id AS alertId, stage, state, revision FROM alerts
         WHERE rule = 'jump' AND period_key = ? AND tenant_key = ?`,
      )
      .get(subject.periodKey, subject.tenantKey) as StoredAlert | undefined;
    return row ?? null;
  }

  #insert(subject: Subject, finding: JumpFinding): StoredAlert {
    const { run, appliedAt } = this.#merged;
    const subjectName = JSON.stringify([
      'jump',
      run.workspaceId,
      this.#tenantId(subject),
      periodOfKey(subject.periodKey),
    ]);
    const alertId = `alert_${shortHash(subjectName, 20)}`;
    const { lastInsertRowid } = this.#connection
      .prepare(
        `INSERT INTO alerts (alert_id, rule, rule_version, workspace_key, tenant_key, period_key, stage, severity, state,
           previous_credits, current_credits, previous_requests, current_requests, threshold, first_fired_at,
           last_changed_at, revision)
         VALUES (?, 'jump', ?, ?, ?, ?, ?, ?, 'firing', ?, ?, ?, ?, ?, ?, ?, 1)`,
      )
      .run(
        alertId,
        JUMP_RULE_VERSION,
        run.workspaceKey,
        subject.tenantKey,
        subject.periodKey,
        finding.stage,
        finding.severity,
        subject.previous.credits,
        subject.current.credits,
        subject.previous.requests,
        subject.current.requests,
        finding.threshold,
        appliedAt,
        appliedAt,
      );
    return { alertKey: Number(lastInsertRowid), alertId, stage: finding.stage, state: 'firing', revision: 1 };
  }

  #update(alert: StoredAlert, subject: Subject, threshold: bigint, severity: string): void {
    this.#connection
      .prepare(
        `UPDATE alerts SET stage = ?, severity = ?, state = ?, previous_credits = ?, current_credits = ?,
           previous_requests = ?, current_requests = ?, threshold = ?, rule_version = ?, revision = ?,
           last_changed_at = CASE WHEN revision = ? THEN last_changed_at ELSE ? END
         WHERE alert_key = ?`,
      )
      .run(
        alert.stage,
        severity,
        alert.state,
        subject.previous.credits,
        subject.current.credits,
        subject.previous.requests,
        subject.current.requests,
        threshold,
        JUMP_RULE_VERSION,
        alert.revision,
        alert.revision,
        this.#merged.appliedAt,
        alert.alertKey,
      );
  }

  #transition(
    alert: StoredAlert,
    subject: Subject,
    change: AlertChange['change'],
    threshold: bigint,
    silent: boolean,
  ): void {
    const { run, appliedAt } = this.#merged;
    this.#connection
      .prepare(
        `INSERT INTO alert_transitions (alert_key, revision, state, stage, run_key, actor, at, current_credits, silent)
         VALUES (?, ?, ?, ?, ?, 'run', ?, ?, ?)`,
      )
      .run(
        alert.alertKey,
        alert.revision,
        alert.state,
        alert.stage,
        run.runKey,
        appliedAt,
        subject.current.credits,
        silent ? 1 : 0,
      );
    const tenantId = this.#tenantId(subject);
    this.#outcome.changes.push({
      alertId: alert.alertId,
      change,
      tenantId,
      period: periodOfKey(subject.periodKey),
      stage: alert.stage,
      previousCredits: subject.previous.credits,
      currentCredits: subject.current.credits,
      threshold,
      silent,
    });
    if (!silent) this.#notify(alert, subject, NOTIFICATION_TYPES[change], threshold, tenantId);
  }

  #notify(alert: StoredAlert, subject: Subject, type: NotificationType, threshold: bigint, tenantId: string): void {
    const { run, appliedAt } = this.#merged;
    const period = periodOfKey(subject.periodKey);
    for (const channel of this.#channels) {
      const notificationId = `msg_${shortHash(JSON.stringify([alert.alertId, alert.revision, channel]), 32)}`;
      const payload = renderPayload(
        buildNotification({
          notificationId,
          type,
          alertId: alert.alertId,
          ruleVersion: JUMP_RULE_VERSION,
          stage: alert.stage,
          severity: 'critical',
          state: alert.state,
          workspaceId: run.workspaceId,
          tenantId,
          period,
          previousPeriod: addPeriods(period, -1),
          previous: subject.previous,
          current: subject.current,
          threshold,
          runId: run.runId,
          createdAt: appliedAt,
        }),
      );
      this.#connection
        .prepare(
          `INSERT INTO outbox (notification_id, alert_key, channel, payload, state, created_at, next_attempt_at)
           VALUES (?, ?, ?, ?, 'pending', ?, ?)`,
        )
        .run(notificationId, alert.alertKey, channel, payload, appliedAt, appliedAt);
      this.#outcome.notificationIds.push(notificationId);
    }
  }

  #tenantId(subject: Subject): string {
    return String(
      this.#connection.prepare('SELECT tenant_id FROM tenants WHERE tenant_key = ?').pluck().get(subject.tenantKey),
    );
  }
}

const NOTIFICATION_TYPES: Record<AlertChange['change'], NotificationType> = {
  fired: 'alert.firing',
  escalated: 'alert.escalated',
  resolved: 'alert.resolved',
};

function shortHash(text: string, characters: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, characters);
}
