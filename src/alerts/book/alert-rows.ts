import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { AppError } from '../../core/errors.ts';
import type { Period } from '../../core/period.ts';
import { OPEN_ALERT_STATES } from '../../core/text/alert-words.ts';
import { placeholders, prepared, query } from '../../ledger/store/query.ts';
import { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { and, asc, eq, inArray, sql } from '../../ledger/store/schema/drizzle.ts';
import type { AlertSubject } from '../evaluate/observation.ts';
import type { Severity } from '../rules/rule.ts';
import { ruleVersion } from '../rules/table.ts';
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

/** What an evaluation works with; the rest of a row never changes. */
const WRITTEN = [
  ...['ruleVersion', 'stage', 'severity', 'state', 'firstFiredAt', 'lastChangedAt', 'revision', 'level'],
  ...['notifiedMeasure', 'pendingSince', 'clearRunKey', 'incidentKey', ...Object.keys(figureColumns(NO_FIGURES))],
];

type StoredRow = typeof alerts.$inferSelect;

/** Written into the statement, so that the index of open alerts serves. */
export const isOpenAlert = inArray(alerts.state, OPEN_ALERT_STATES).inlineParams();

const { placeholder } = sql;

const alertOfSubject = prepared((db) =>
  db
    .select()
    .from(alerts)
    .where(
      and(
        ...[eq(alerts.rule, placeholder('rule')), eq(alerts.workspaceKey, placeholder('workspaceKey'))],
        // The very words of the index.
        sql`coalesce(period_key, 0) = coalesce(${placeholder('periodKey')}, 0)`,
        sql`coalesce(tenant_key, 0) = coalesce(${placeholder('tenantKey')}, 0)`,
      ),
    ),
);

const alertByKey = prepared((db) =>
  db
    .select()
    .from(alerts)
    .where(eq(alerts.alertKey, placeholder('alertKey'))),
);

const openAlerts = prepared((db) => {
  const isOwn = and(eq(alerts.workspaceKey, placeholder('workspaceKey')), isOpenAlert);
  return db.select().from(alerts).where(isOwn).orderBy(asc(alerts.alertKey));
});

const insertAlert = prepared((db) =>
  db
    .insert(alerts)
    .values({
      ...placeholders(['alertId', 'rule', 'ruleVersion', 'workspaceKey', 'tenantKey', 'periodKey']),
      ...placeholders(['stage', 'severity', 'state', 'lastChangedAt']),
      revision: 0,
    })
    .returning(),
);

const updateAlert = prepared((db) =>
  db
    .update(alerts)
    .set({
      ...placeholders(WRITTEN),
      detail: sql`coalesce(${placeholder('detail')}, ${alerts.detail})`,
    })
    .where(eq(alerts.alertKey, placeholder('alertKey'))),
);

/** The rows of one workspace's alerts: reads and writes, no decisions. */
export class AlertRows {
  readonly #workspaceKey: number;
  readonly #connection;

  constructor(connection: Database.Database, workspaceKey: number) {
    this.#workspaceKey = workspaceKey;
    this.#connection = connection;
  }

  find({ rule, periodKey, tenantKey }: AlertSubject): StoredAlert | null {
    const row = alertOfSubject(this.#connection).get({ rule, workspaceKey: this.#workspaceKey, periodKey, tenantKey });
    return row === undefined ? null : toAlert(row);
  }

  byKey(alertKey: number): StoredAlert | null {
    const row = alertByKey(this.#connection).get({ alertKey });
    return row === undefined ? null : toAlert(row);
  }

  /** Alerts that have not ended, in the order in which they began. */
  open(): StoredAlert[] {
    return openAlerts(this.#connection).all({ workspaceKey: this.#workspaceKey }).map(toAlert);
  }

  /** Makes the row of an alert that begins; `write` fills it in. */
  insert(subject: AlertSubject, names: SubjectNames, status: AlertStatus, severity: Severity, at: string): StoredAlert {
    const { rule, periodKey, tenantKey } = subject;
    const { stage, state } = status;
    const row = insertAlert(this.#connection).get({
      ...{ alertId: alertIdOf(subject, names), rule, ruleVersion: ruleVersion(rule) },
      ...{ workspaceKey: this.#workspaceKey, tenantKey, periodKey },
      ...{ stage, severity, state, lastChangedAt: at },
    });
    return { ...toAlert(row), ...status };
  }

  write(alert: StoredAlert, detail: string | null): void {
    const { previous: _, current: __, ...plain } = alert;
    updateAlert(this.#connection).run({
      ...plain,
      ...figureColumns(alert),
      ruleVersion: ruleVersion(alert.rule),
      pendingSince: alert.pendingSinceMs === null ? null : new Date(alert.pendingSinceMs).toISOString(),
      detail,
    });
  }
}

/** Throws `unknown_alert`. */
export function requireAlert(connection: Database.Database, alertId: string): typeof alerts.$inferSelect {
  const alert = query(connection).select().from(alerts).where(eq(alerts.alertId, alertId)).get();
  if (alert !== undefined) return alert;
  throw new AppError('unknown_alert', `there is no alert ${JSON.stringify(alertId)}`, {
    hint: '`usage-ledger alerts list --all` shows every alert with its id',
  });
}

/** The same in every ledger that sees the same: receivers can join what two of them say. */
function alertIdOf({ rule }: AlertSubject, { workspaceId, tenantId, period }: SubjectNames): string {
  return `alert_${shortHash(JSON.stringify([rule, workspaceId, tenantId, period]), 20)}`;
}

export function shortHash(text: string, characters: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, characters);
}

function toAlert(row: StoredRow): StoredAlert {
  const { alertKey, alertId, rule, stage, severity, state, periodKey, tenantKey, revision, level } = row;
  const { notifiedMeasure, pendingSince, clearRunKey, incidentKey, firstFiredAt, lastChangedAt } = row;
  return {
    ...{ alertKey, alertId, rule, stage, severity, state, periodKey, tenantKey, revision, level },
    ...{ notifiedMeasure, clearRunKey, incidentKey, firstFiredAt, lastChangedAt },
    pendingSinceMs: pendingSince === null ? null : Date.parse(pendingSince),
    ...figuresOf(row),
  };
}
