import { createHash } from 'node:crypto';
import { AppError } from '../../core/errors.ts';
import { oncePerKey } from '../../core/one-at-a-time.ts';
import type { Period } from '../../core/period.ts';
import { OPEN_ALERT_STATES } from '../../core/text/alert-words.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { alerts, deliveryMembers } from '../../ledger/store/schema/alert-tables.ts';
import { deliveries } from '../../ledger/store/schema/delivery-tables.ts';
import {
  and,
  asc,
  eq,
  getTableColumns,
  inArray,
  isNull,
  or,
  perConnection,
  placeholders,
  prepared,
  query,
  type SQL,
  sql,
} from '../../ledger/store/schema/drizzle.ts';
import { ledgerId } from '../../ledger/store/schema/identity.ts';
import { ensurePeriod } from '../../ledger/store/subjects.ts';
import type { AlertSubject } from '../rules/observation.ts';
import { INHIBITING_RULES, RULE_TABLE } from '../rules/rules.ts';
import { type AlertFigures, NO_FIGURES, toAlertFigures, toFigureColumns } from './alert-figures.ts';
import type { AlertStatus } from './lifecycle.ts';

export interface StoredAlert extends AlertSubject, AlertStatus, AlertFigures {
  alertKey: number;
  alertId: string;
  cause: string | null;
  revision: number;
  firstFiredAt: string | null;
  lastChangedAt: string;
  /** The number of growth notifications since it fired. */
  notifiedCount: number;
  /** Details of a system alert. */
  detail: string | null;
  /** JSON of the rule's snapshot: facts besides the figures. */
  basis: string | null;
}

/** The ids of a subject's workspace, tenant and period, for its keys; null if it has none. */
export interface SubjectNames {
  workspaceId: string | null;
  tenantId: string | null;
  period: Period | null;
}

/** Columns that an evaluation changes besides the rule version; the others never change. */
const CHANGEABLE_COLUMNS = [
  ...['level', 'severity', 'state', 'firstFiredAt', 'lastChangedAt', 'revision', 'notifiedCount'],
  ...['magnitude', 'pendingSince', 'clearRunKey', 'episode', 'beganAt', 'detail', 'basis'],
  ...Object.keys(toFigureColumns(NO_FIGURES)),
];

type StoredRow = typeof alerts.$inferSelect;

/** SQL condition for open alerts. The states are inlined: SQLite does not use the partial index with bound ones. */
export const isOpenAlertSql = inArray(alerts.state, OPEN_ALERT_STATES).inlineParams();

const { placeholder } = sql;

/** SQL condition for the alerts of a workspace. A null key selects those about the ledger itself. */
const isAlertOfWorkspace = sql`${alerts.workspaceKey} IS ${placeholder('workspaceKey')}`;

const alertOfSubject = prepared((db) =>
  db
    .select()
    .from(alerts)
    .where(
      and(
        eq(alerts.rule, placeholder('rule')),
        // SQLite uses the index only if these expressions are written exactly like those of the index.
        sql`coalesce(workspace_key, 0) = coalesce(${placeholder('workspaceKey')}, 0)`,
        sql`coalesce(period_key, 0) = coalesce(${placeholder('periodKey')}, 0)`,
        sql`coalesce(tenant_key, 0) = coalesce(${placeholder('tenantKey')}, 0)`,
        sql`coalesce(cause, '') = coalesce(${placeholder('cause')}, '')`,
      ),
    ),
);

const alertById = prepared((db) =>
  db
    .select()
    .from(alerts)
    .where(eq(alerts.alertId, placeholder('alertId'))),
);

const inhibitingAlerts = prepared((db) => {
  const mayExplain = inArray(alerts.rule, INHIBITING_RULES).inlineParams();
  return db
    .select()
    .from(alerts)
    .where(and(isAlertOfWorkspace, isOpenAlertSql, mayExplain))
    .orderBy(asc(alerts.alertKey));
});

const insertAlert = prepared((db) =>
  db
    .insert(alerts)
    .values({
      ...placeholders(['alertId', 'rule', 'ruleVersion', 'workspaceKey', 'tenantKey', 'periodKey', 'cause']),
      ...placeholders(['level', 'severity', 'state', 'lastChangedAt']),
      revision: 0,
    })
    .returning(),
);

/** Updates only the changed columns, because a trigger computes a digest whenever a column that it guards is set. */
const updateOf = perConnection((connection) =>
  oncePerKey((columns: string) =>
    query(connection)
      .update(alerts)
      .set(placeholders(columns.split(' ')))
      .where(eq(alerts.alertKey, placeholder('alertKey')))
      .prepare(),
  ),
);

/** Selects open alerts, alerts whose end a channel was not notified of, and alerts with a due decision or message. */
const alertsToEvaluate = prepared((db) => {
  const isNotifiedOrDue = sql`EXISTS (
    SELECT 1 FROM alert_notified n WHERE n.alert_key = ${alerts.alertKey} AND (n.open = 1 OR n.due_at IS NOT NULL))`;
  return db
    .select()
    .from(alerts)
    .where(and(isAlertOfWorkspace, or(isOpenAlertSql, isNotifiedOrDue)))
    .orderBy(asc(alerts.alertKey));
});

export class AlertStore {
  readonly #workspaceKey: number | null;
  readonly #connection;

  constructor(connection: LedgerDb, workspaceKey: number | null) {
    this.#workspaceKey = workspaceKey;
    this.#connection = connection;
  }

  find({ rule, periodKey, tenantKey, cause = null }: AlertSubject): StoredAlert | null {
    const subject = { rule, workspaceKey: this.#workspaceKey, periodKey, tenantKey, cause };
    const row = alertOfSubject(this.#connection).get(subject);
    return row === undefined ? null : toAlert(row);
  }

  /** Returns the open alerts that may inhibit others. */
  inhibiting(): StoredAlert[] {
    return inhibitingAlerts(this.#connection).all({ workspaceKey: this.#workspaceKey }).map(toAlert);
  }

  toEvaluate(): StoredAlert[] {
    return alertsToEvaluate(this.#connection).all({ workspaceKey: this.#workspaceKey }).map(toAlert);
  }

  among(keys: SQL): StoredAlert[] {
    const isOwn = sql`${alerts.workspaceKey} IS ${this.#workspaceKey} AND ${alerts.alertKey} IN ${keys}`;
    return query(this.#connection).select().from(alerts).where(isOwn).orderBy(asc(alerts.alertKey)).all().map(toAlert);
  }

  /** Inserts the row of an alert that begins; `write` sets the remaining columns. */
  insert(subject: AlertSubject, names: SubjectNames, status: AlertStatus, at: string): StoredAlert {
    const { rule, periodKey, tenantKey, cause = null } = subject;
    const { level, severity, state } = status;
    const place = names.workspaceId ?? ledgerId(this.#connection);
    // The alert of a stopped tenant may be about a month without records, so the ledger may not have the period yet.
    if (periodKey !== null) ensurePeriod(this.#connection, periodKey);
    const row = insertAlert(this.#connection).get({
      alertId: alertIdOf(subject, place, names),
      rule,
      ruleVersion: RULE_TABLE[rule].kind.version,
      workspaceKey: this.#workspaceKey,
      tenantKey,
      periodKey,
      cause,
      level,
      severity,
      state,
      lastChangedAt: at,
    });
    return { ...toAlert(row), ...status };
  }

  /** Writes the columns that differ from `stored`; if that is null, all of them. */
  write(alert: StoredAlert, stored: StoredAlert | null): void {
    const [row, before] = [alertRowOf(alert), stored && alertRowOf(stored)];
    const changed = CHANGEABLE_COLUMNS.filter((column) => before === null || row[column] !== before[column]);
    if (changed.length === 0) return;
    const columns = ['ruleVersion', ...changed].join(' ');
    updateOf(this.#connection)(columns).run({ ...row, ruleVersion: RULE_TABLE[alert.rule].kind.version });
  }
}

/** Returns the row of an alert. Throws `unknown_alert`. */
export function requireAlert(connection: LedgerDb, alertId: string): typeof alerts.$inferSelect {
  const alert = alertById(connection).get({ alertId });
  if (alert !== undefined) return alert;
  throw new AppError('unknown_alert', `there is no alert ${JSON.stringify(alertId)}`, {
    hint: '`usage-ledger alerts list --all` shows every alert with its id',
  });
}

/** Returns the alert with an id, or, for the id of a message, all of its alerts. Throws `unknown_alert`. */
export function requireAlerts(connection: LedgerDb, id: string): (typeof alerts.$inferSelect)[] {
  if (!id.startsWith('msg_')) return [requireAlert(connection, id)];
  const members = query(connection)
    .select(getTableColumns(alerts))
    .from(alerts)
    .innerJoin(deliveryMembers, eq(deliveryMembers.alertKey, alerts.alertKey))
    .innerJoin(deliveries, eq(deliveries.deliveryKey, deliveryMembers.deliveryKey))
    .where(eq(deliveries.notificationId, id))
    .orderBy(asc(alerts.alertKey))
    .all();
  if (members.length > 0) return members;
  throw new AppError('unknown_alert', `there is no message ${JSON.stringify(id)} about any alert`, {
    hint: 'old messages are deleted; `usage-ledger alerts list` shows the alerts with their ids',
  });
}

export function systemAlertId(connection: LedgerDb, rule: StoredAlert['rule'], cause: string): string {
  const names = { workspaceId: null, tenantId: null, period: null };
  return alertIdOf({ rule, cause, periodKey: null, tenantKey: null }, ledgerId(connection), names);
}

/** Gives the alerts about the ledger itself new ids, after the ledger's id has changed. */
export function renameSystemAlerts(connection: LedgerDb): void {
  const db = query(connection);
  const place = ledgerId(connection);
  for (const alert of db.select().from(alerts).where(isNull(alerts.workspaceKey)).all()) {
    const alertId = alertIdOf(alert, place, { workspaceId: null, tenantId: null, period: null });
    db.update(alerts).set({ alertId }).where(eq(alerts.alertKey, alert.alertKey)).run();
  }
}

/**
 * Returns the id of an alert. It is the same in every ledger that finds the same condition, so that receivers can
 * match them. `place` is the id of the workspace or of the ledger.
 */
function alertIdOf({ rule, cause }: AlertSubject, place: string, { tenantId, period }: SubjectNames): string {
  const subject = [rule, place, tenantId, period, ...(cause == null ? [] : [cause])];
  return `alert_${shortHash(JSON.stringify(subject), 20)}`;
}

export function shortHash(text: string, characters: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, characters);
}

function alertRowOf(alert: StoredAlert): Record<string, unknown> {
  const pendingSince = alert.pendingSinceMs === null ? null : new Date(alert.pendingSinceMs).toISOString();
  return { ...alert, ...toFigureColumns(alert), pendingSince };
}

function toAlert({ pendingSince, ...row }: StoredRow): StoredAlert {
  return { ...row, ...toAlertFigures(row), pendingSinceMs: pendingSince === null ? null : Date.parse(pendingSince) };
}
