import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import type { Period } from '../../core/period.ts';
import { OPEN_ALERT_STATES_SQL } from '../../core/text/alert-words.ts';
import type { alerts } from '../../ledger/store/schema/alert-tables.ts';
import type { Exact, SqlRow } from '../../ledger/store/schema/rows.ts';
import type { AlertSubject, Observation } from '../evaluate/observation.ts';
import { RULE_VERSION, type Severity } from '../rules/rule.ts';
import type { AlertStatus } from './lifecycle.ts';

/** An alert as it is stored. */
export interface StoredAlert extends AlertSubject, AlertStatus {
  alertKey: number;
  alertId: string;
  severity: Severity;
  revision: number;
  firstFiredAt: string | null;
  lastChangedAt: string;
  incidentKey: number | null;
  previousCredits: bigint | null;
  currentCredits: bigint | null;
  previousRequests: bigint | null;
  currentRequests: bigint | null;
  threshold: bigint | null;
}

/** The names behind a subject's keys. */
export interface SubjectNames {
  workspaceId: string;
  tenantId: string | null;
  period: Period | null;
}

type StoredRow = Omit<Exact<SqlRow<typeof alerts>>, 'rule_version' | 'workspace_key' | 'detail'>;

const COLUMNS = `alert_key, alert_id, rule, period_key, tenant_key, stage, severity, state, revision, level,
  notified_measure, pending_since, clear_run_key, incident_key, first_fired_at, last_changed_at, previous_credits,
  current_credits, previous_requests, current_requests, threshold`;
const BY_SUBJECT = `rule = ? AND workspace_key = ? AND coalesce(period_key, 0) = coalesce(?, 0)
  AND coalesce(tenant_key, 0) = coalesce(?, 0)`;

/** The rows of one workspace's alerts: reads and writes, no decisions. */
export class AlertRows {
  readonly #workspaceKey: number;
  readonly #statements;

  constructor(connection: Database.Database, workspaceKey: number) {
    this.#workspaceKey = workspaceKey;
    const read = (where: string) => connection.prepare(`SELECT ${COLUMNS} FROM alerts WHERE ${where}`).safeIntegers();
    this.#statements = {
      find: read(BY_SUBJECT),
      open: read(`workspace_key = ? AND state IN ${OPEN_ALERT_STATES_SQL} ORDER BY alert_key`),
      byKey: read('alert_key = ?'),
      insert: connection.prepare(
        `INSERT INTO alerts (alert_id, rule, rule_version, workspace_key, tenant_key, period_key, stage, severity, state,
           last_changed_at, revision)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0) RETURNING alert_key`,
      ),
      update: connection.prepare(
        `UPDATE alerts SET rule_version = ?, stage = ?, severity = ?, state = ?, previous_credits = ?,
           current_credits = ?, previous_requests = ?, current_requests = ?, threshold = ?, first_fired_at = ?,
           last_changed_at = ?, revision = ?, level = ?, notified_measure = ?, pending_since = ?, clear_run_key = ?,
           incident_key = ?, detail = coalesce(?, detail)
         WHERE alert_key = ?`,
      ),
    };
  }

  find({ rule, periodKey, tenantKey }: AlertSubject): StoredAlert | null {
    const row = this.#statements.find.get(rule, this.#workspaceKey, periodKey, tenantKey) as StoredRow | undefined;
    return row === undefined ? null : toAlert(row);
  }

  byKey(alertKey: number): StoredAlert | null {
    const row = this.#statements.byKey.get(alertKey) as StoredRow | undefined;
    return row === undefined ? null : toAlert(row);
  }

  /** Alerts that have not ended, in the order in which they began. */
  open(): StoredAlert[] {
    return (this.#statements.open.all(this.#workspaceKey) as StoredRow[]).map(toAlert);
  }

  /** Makes the row of an alert that begins; `write` fills it in. */
  insert(subject: AlertSubject, names: SubjectNames, status: AlertStatus, severity: Severity, at: string): StoredAlert {
    const { rule, periodKey, tenantKey } = subject;
    const alertId = alertIdOf(subject, names);
    const values = [
      alertId,
      rule,
      RULE_VERSION[rule],
      this.#workspaceKey,
      tenantKey,
      periodKey,
      status.stage,
      severity,
    ];
    const { alert_key } = this.#statements.insert.get(...values, status.state, at) as { alert_key: number };
    const nothing = { previousCredits: null, currentCredits: null, previousRequests: null, currentRequests: null };
    return {
      ...{ rule, periodKey, tenantKey, alertKey: alert_key, alertId, severity },
      ...status,
      ...nothing,
      ...{ threshold: null, revision: 0, firstFiredAt: null, lastChangedAt: at, incidentKey: null },
    };
  }

  write(alert: StoredAlert, detail: string | null): void {
    this.#statements.update.run(
      RULE_VERSION[alert.rule],
      alert.stage,
      alert.severity,
      alert.state,
      alert.previousCredits,
      alert.currentCredits,
      alert.previousRequests,
      alert.currentRequests,
      alert.threshold,
      alert.firstFiredAt,
      alert.lastChangedAt,
      alert.revision,
      alert.level,
      alert.notifiedMeasure,
      alert.pendingSinceMs === null ? null : new Date(alert.pendingSinceMs).toISOString(),
      alert.clearRunKey,
      alert.incidentKey,
      detail,
      alert.alertKey,
    );
  }
}

/** The same in every ledger that sees the same: receivers can join what two of them say. */
function alertIdOf({ rule }: AlertSubject, { workspaceId, tenantId, period }: SubjectNames): string {
  return `alert_${shortHash(JSON.stringify([rule, workspaceId, tenantId, period]), 20)}`;
}

export function shortHash(text: string, characters: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, characters);
}

/** The figures of an alert as an observation has them. */
export function figuresOf({ previous, current, threshold }: Observation) {
  return {
    previousCredits: previous?.credits ?? null,
    currentCredits: current?.credits ?? null,
    previousRequests: previous?.requests ?? null,
    currentRequests: current?.requests ?? null,
    threshold,
  };
}

function toAlert(row: StoredRow): StoredAlert {
  const { alert_key, rule, stage, severity, state, pending_since } = row;
  return {
    ...{ rule, stage, severity, state },
    alertKey: Number(alert_key),
    alertId: row.alert_id,
    periodKey: keyOf(row.period_key),
    tenantKey: keyOf(row.tenant_key),
    revision: Number(row.revision),
    level: Number(row.level),
    notifiedMeasure: row.notified_measure,
    pendingSinceMs: pending_since === null ? null : Date.parse(pending_since),
    clearRunKey: keyOf(row.clear_run_key),
    incidentKey: keyOf(row.incident_key),
    firstFiredAt: row.first_fired_at,
    lastChangedAt: row.last_changed_at,
    previousCredits: row.previous_credits,
    currentCredits: row.current_credits,
    previousRequests: row.previous_requests,
    currentRequests: row.current_requests,
    threshold: row.threshold,
  };
}

function keyOf(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}
