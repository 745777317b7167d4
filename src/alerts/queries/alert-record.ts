import { AppError } from '../../core/errors.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import type { alertTransitions } from '../../ledger/store/schema/alert-tables.ts';
import type { financeAlertMessages } from '../../ledger/store/schema/finance-views.ts';
import type { RowWithBigints, SqlRow } from '../../ledger/store/schema/rows.ts';
import { tenantNameLookup } from '../../ledger/store/tenant-names.ts';
import type { AlertRow } from './alerts.ts';

/** An alert with its state changes, messages and labels. */
export interface AlertRecord {
  alert: AlertRow & { rule_version: bigint } & {
    tenant_name: string | null;
  };
  transitions: AlertTransition[];
  messages: AlertMessage[];
  pending: PendingMessage[];
  /** Labels given by people, latest last. */
  feedback: AlertFeedback[];
}

export interface AlertFeedback {
  label: string;
  note: string | null;
  actor: string;
  at: string;
}

export type AlertTransition = Pick<
  RowWithBigints<SqlRow<typeof alertTransitions>>,
  'revision' | 'change' | 'state' | 'level' | 'at' | 'actor' | 'current_credits' | 'note'
> & { run_id: string | null; muted_because: string | null };

export type AlertMessage = Omit<RowWithBigints<typeof financeAlertMessages.$inferSelect>, 'alert_id' | 'workspace_id'>;

/** A notification that is pending and not yet in a message. */
export interface PendingMessage {
  channel: string;
  event: string;
  pending_at: string;
  /** When it is sent or retried; null if it was given up. */
  due_at: string | null;
  /** A notification that waits is sent with a group, or with the daily summary (`digest`); null: it is sent alone. */
  batch: 'group' | 'digest' | null;
  failures: bigint;
}

/** Returns an alert with everything that the ledger has recorded about it. Throws `unknown_alert`. */
export function requireAlertRecord(connection: LedgerDb, alertId: string): AlertRecord {
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
      : tenantNameLookup(connection, { workspaceId: workspace_id, tenantId: tenant_id })(workspace_id, tenant_id);
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
    messages: all(
      `SELECT notification_id, channel, revision, event, level, form, made_at, outcome, attempts, delivered_at, last_error
       FROM finance_alert_messages WHERE alert_id = ? ORDER BY made_at, channel, revision`,
    ) as AlertMessage[],
    pending: all(
      `SELECT n.channel, substr(n.pending, 1, instr(n.pending, ' ') - 1) AS event, n.pending_at, n.due_at, n.batch, n.failures
       FROM alerts a JOIN alert_notified n USING (alert_key)
       WHERE a.alert_id = ? AND n.pending IS NOT NULL AND n.delivery_key IS NULL ORDER BY n.channel`,
    ) as PendingMessage[],
  };
}
