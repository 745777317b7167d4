import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import type { Period } from '../../core/period.ts';
import { OPEN_ALERT_STATES_SQL } from '../../core/text/alert-words.ts';
import type { alerts } from '../../ledger/store/schema/alert-tables.ts';
import type { Exact, SqlRow } from '../../ledger/store/schema/rows.ts';
import type { AlertSubject } from '../evaluate/observation.ts';
import { RULE_VERSION, type Severity } from '../rules/rule.ts';
import { type AlertFigures, figureColumns, figuresOf, NO_FIGURES } from './alert-figures.ts';
import type { AlertStatus } from './lifecycle.ts';

/** An alert as it is stored. */
export interface StoredAlert extends AlertSubject, AlertStatus, AlertFigures {
  alertKey: number;
  alertId: string;
  severity: Severity;
  revision: number;
  firstFiredAt: string | null;
  lastChangedAt: string;
  incidentKey: number | null;
}

/** The names behind a subject's keys. */
export interface SubjectNames {
  workspaceId: string;
  tenantId: string | null;
  period: Period | null;
}

type StoredRow = Exact<SqlRow<typeof alerts>>;

const SET_FIGURES = Object.keys(figureColumns(NO_FIGURES)).map((column) => `${column} = @${column}`);
const BY_SUBJECT = `rule = ? AND workspace_key = ? AND coalesce(period_key, 0) = coalesce(?, 0)
  AND coalesce(tenant_key, 0) = coalesce(?, 0)`;

/** The rows of one workspace's alerts: reads and writes, no decisions. */
export class AlertRows {
  readonly #workspaceKey: number;
  readonly #statements;

  constructor(connection: Database.Database, workspaceKey: number) {
    this.#workspaceKey = workspaceKey;
    const read = (where: string) => connection.prepare(`SELECT * FROM alerts WHERE ${where}`).safeIntegers();
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
        `UPDATE alerts SET rule_version = @ruleVersion, stage = @stage, severity = @severity, state = @state,
           first_fired_at = @firstFiredAt, last_changed_at = @lastChangedAt, revision = @revision, level = @level,
           notified_measure = @notifiedMeasure, pending_since = @pendingSince, clear_run_key = @clearRunKey,
           incident_key = @incidentKey, detail = coalesce(@detail, detail), ${SET_FIGURES.join(', ')}
         WHERE alert_key = @alertKey`,
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
    return {
      ...{ rule, periodKey, tenantKey, alertKey: alert_key, alertId, severity },
      ...status,
      ...NO_FIGURES,
      ...{ revision: 0, firstFiredAt: null, lastChangedAt: at, incidentKey: null },
    };
  }

  write(alert: StoredAlert, detail: string | null): void {
    const { previous: _, current: __, ...plain } = alert;
    this.#statements.update.run({
      ...plain,
      ...figureColumns(alert),
      ruleVersion: RULE_VERSION[alert.rule],
      pendingSince: alert.pendingSinceMs === null ? null : new Date(alert.pendingSinceMs).toISOString(),
      detail,
    });
  }
}

/** The same in every ledger that sees the same: receivers can join what two of them say. */
function alertIdOf({ rule }: AlertSubject, { workspaceId, tenantId, period }: SubjectNames): string {
  return `alert_${shortHash(JSON.stringify([rule, workspaceId, tenantId, period]), 20)}`;
}

export function shortHash(text: string, characters: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, characters);
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
    ...figuresOf(row),
  };
}

function keyOf(value: bigint | null): number | null {
  return value === null ? null : Number(value);
}
