import { AppError } from '../../core/errors.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import type { alertTransitions } from '../../ledger/store/schema/alert-tables.ts';
import type { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import type { Exact, SqlRow } from '../../ledger/store/schema/rows.ts';
import { tenantNames } from '../../ledger/store/tenant-names.ts';
import type { AlertRow } from './alerts.ts';

/** An alert with everything that happened to it. */
export interface AlertRecord {
  alert: AlertRow & { rule_version: bigint } & {
    /** What people call the tenant; null when it has no name. */
    tenant_name: string | null;
  };
  transitions: AlertTransition[];
  deliveries: AlertDelivery[];
  /** What people have said of it, the last word last. */
  feedback: AlertFeedback[];
}

export interface AlertFeedback {
  label: string;
  note: string | null;
  actor: string;
  at: string;
}

export type AlertTransition = Pick<
  Exact<SqlRow<typeof alertTransitions>>,
  'revision' | 'change' | 'state' | 'level' | 'at' | 'actor' | 'current_credits' | 'note'
> & { run_id: string | null; muted_because: string | null };

export type AlertDelivery = Pick<
  Exact<SqlRow<typeof outbox>>,
  'notification_id' | 'channel' | 'state' | 'attempts' | 'created_at' | 'delivered_at' | 'last_error'
> & {
  /** When the daily summary was due that it waits for, or went into; null for what goes at once. */
  digest_at: string | null;
  /** The notification that it went with instead, and how that fares; null when it goes by itself. */
  digest_id: string | null;
  digest_state: string | null;
};

/** The record of one alert. Throws `unknown_alert`. */
export function alertRecord(connection: LedgerConnection, alertId: string): AlertRecord {
  const all = (sql: string) => connection.prepare(sql).safeIntegers().all(alertId);
  const [alert] = all(
    `SELECT f.*, a.rule_version FROM finance_alerts f JOIN alerts a USING (alert_id) WHERE f.alert_id = ?`,
  ) as Omit<AlertRecord['alert'], 'tenant_name'>[];
  if (alert === undefined) {
    throw new AppError('unknown_alert', `there is no alert ${JSON.stringify(alertId)}`, {
      hint: '`usage-ledger alerts list --all` shows every alert with its id',
    });
  }
  const { workspace_id, tenant_id } = alert;
  const tenant_name =
    tenant_id === null || workspace_id === null
      ? null
      : tenantNames(connection, { workspaceId: workspace_id, tenantId: tenant_id })(workspace_id, tenant_id);
  return {
    alert: { ...alert, tenant_name },
    transitions: all(
      `SELECT x.revision, x.change, x.state, x.level, x.at, x.actor, r.run_id, x.current_credits,
         x.silent_because AS muted_because, x.note
       FROM alerts a JOIN alert_transitions x USING (alert_key) LEFT JOIN runs r ON r.run_key = x.run_key
       WHERE a.alert_id = ? ORDER BY x.revision`,
    ) as AlertTransition[],
    feedback: all(
      `SELECT b.label, b.note, b.actor, b.at FROM alerts a JOIN alert_feedback b USING (alert_key)
       WHERE a.alert_id = ? ORDER BY b.feedback_key`,
    ) as AlertFeedback[],
    deliveries: all(
      `SELECT o.notification_id, o.channel, o.state, o.attempts, o.created_at, o.delivered_at, o.last_error,
         CASE o.state WHEN 'held' THEN o.next_attempt_at ELSE o.digest_at END AS digest_at, o.digest_id,
         d.state AS digest_state
       FROM alerts a JOIN outbox o USING (alert_key) LEFT JOIN outbox d ON d.notification_id = o.digest_id
       WHERE a.alert_id = ? ORDER BY o.created_at, o.channel`,
    ) as AlertDelivery[],
  };
}
