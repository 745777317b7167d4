import { ALERT_STATES, RULES, SEVERITIES } from '../../../core/text/alert-words.ts';
import { int64, integer, sqliteView, text } from './drizzle.ts';

/** The columns of the `finance_*` views that the program itself reads; the views are defined in drizzle/views.sql. */

export const financeUsage = sqliteView('finance_usage', {
  workspace_id: text().notNull(),
  tenant_id: text().notNull(),
  period: text().notNull(),
  period_start: text().notNull(),
  period_end: text().notNull(),
  credits_used: int64().notNull(),
  request_count: int64().notNull(),
  state: text().notNull(),
  first_seen_at: text().notNull(),
  changed_at: text().notNull(),
  withdrawn: integer().notNull(),
}).existing();

export const financeHistory = sqliteView('finance_history', {
  entry_id: integer().notNull(),
  run_id: text().notNull(),
  recorded_at: text().notNull(),
  workspace_id: text().notNull(),
  tenant_id: text().notNull(),
  period: text().notNull(),
  kind: text().notNull(),
  credits_delta: int64().notNull(),
  requests_delta: int64().notNull(),
  credits_after: int64().notNull(),
  requests_after: int64().notNull(),
}).existing();

export const financeAlerts = sqliteView('finance_alerts', {
  alert_id: text().notNull(),
  /** The workspace; null for an alert about the whole ledger. */
  workspace_id: text(),
  /**
   * The tenant, null for an alert that is not about a tenant; and the period, null for an alert that is not about a
   * period.
   */
  tenant_id: text(),
  period: text(),
  rule: text({ enum: RULES }).notNull(),
  level: text().notNull(),
  severity: text({ enum: SEVERITIES }).notNull(),
  state: text({ enum: ALERT_STATES }).notNull(),
  notified_count: integer().notNull(),
  /** The figures that the alert compares; null for system alerts. */
  previous_credits: int64(),
  current_credits: int64(),
  threshold: int64(),
  /** First time the alert fired; null for a pending alert. */
  first_fired_at: text(),
  last_changed_at: text().notNull(),
  previous_requests: int64(),
  current_requests: int64(),
  /** Why nobody was notified of the last change; null when somebody was notified. */
  muted_because: text(),
  /** The cause of a system alert; null for usage alerts. */
  cause: text(),
}).existing();

export const financeAlertMessages = sqliteView('finance_alert_messages', {
  alert_id: text().notNull(),
  workspace_id: text(),
  channel: text().notNull(),
  notification_id: text().notNull(),
  revision: integer().notNull(),
  event: text().notNull(),
  level: text().notNull(),
  form: text({ enum: ['single', 'group', 'digest'] }).notNull(),
  made_at: text().notNull(),
  outcome: text({ enum: ['under_way', 'unknown', 'delivered', 'refused', 'given_up'] }).notNull(),
  attempts: integer().notNull(),
  delivered_at: text(),
  last_error: text(),
}).existing();

export const financeFreshness = sqliteView('finance_freshness', {
  workspace_id: text().notNull(),
  last_complete_run_at: text(),
  last_attempt_at: text(),
  last_status: text(),
  covers_from: text(),
  covers_to: text(),
}).existing();

export const financeRuns = sqliteView('finance_runs', {
  run_id: text().notNull(),
  workspace_id: text().notNull(),
  status: text().notNull(),
  from_period: text(),
  to_period: text(),
  started_at: text().notNull(),
  finished_at: text(),
  pages: integer().notNull(),
  records: integer().notNull(),
  entries: integer().notNull(),
  digest: text(),
  error_code: text(),
  kind: text().notNull(),
  slot: text(),
  error_message: text(),
}).existing();
