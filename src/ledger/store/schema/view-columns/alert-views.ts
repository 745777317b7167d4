import { SELF_EXPLANATORY, TENANT, WORKSPACE } from './column-words.ts';
import type { ViewDescription } from './view-description.ts';

/** The views of alerts, tenants and runs. */
export const ALERT_VIEWS: Readonly<Record<string, ViewDescription>> = {
  finance_alerts: {
    row: 'One row per alert.',
    columns: {
      alert_id: SELF_EXPLANATORY,
      workspace_id: 'NULL: about the ledger as a whole.',
      tenant_id: 'NULL for an alert about something else.',
      period: 'NULL for an alert about something else.',
      rule: SELF_EXPLANATORY,
      level: '`likely`, `happened` or `settled`.',
      severity: '`warning` or `critical`.',
      state: '`pending`, `firing`, `acknowledged`, `resolved` or `expired`.',
      notified_count: 'Number of notifications sent because the alert grew to 1.5x, 2x, 3x or 5x.',
      previous_credits: 'The credits that the rule compared with. NULL for a rule that compares nothing.',
      current_credits: 'Credits in the month when the rule was evaluated. NULL without a month.',
      threshold: 'The credits from which the rule fires. NULL without a threshold.',
      first_fired_at: 'NULL while the alert is pending.',
      last_changed_at: SELF_EXPLANATORY,
      previous_requests: 'Requests of the same two months.',
      current_requests: 'Requests of the same two months.',
      muted_because: 'Why nobody was notified of the last change of the alert, such as `seed` or `immaterial`.',
      cause: 'The cause of a system alert, such as `channel:on-call`. NULL for other alerts.',
    },
  },
  finance_alert_events: {
    row: 'One row per event of an alert.',
    columns: {
      alert_id: SELF_EXPLANATORY,
      workspace_id: 'NULL: about the ledger as a whole.',
      revision: '1, 2, 3 ... by alert.',
      at: SELF_EXPLANATORY,
      event: '`pending`, `fired`, `escalated`, `eased`, `grown`, `notified`, `acknowledged`, `resolved` or `expired`.',
      level: 'The value at that time.',
      state: 'The value at that time.',
      current_credits: 'Credits in the month when the rule was evaluated. NULL without a month.',
      actor: '`run`, `timer` or a person.',
      muted_because: 'The reason why nobody was notified, such as `seed` or `immaterial`.',
      figures: 'The evidence in the notification, as JSON.',
    },
  },
  finance_alert_messages: {
    row: 'One row per alert and message about it to a channel; a group or daily summary has several alerts.',
    columns: {
      alert_id: SELF_EXPLANATORY,
      workspace_id: 'NULL: about the ledger as a whole.',
      channel: SELF_EXPLANATORY,
      notification_id: 'The message, `msg_...`.',
      revision: 'Number of the message among those about the alert to the channel: 1, 2, 3 ...',
      event:
        'The event that the message reports: `opened`, `again`, `worse`, `eased`, `grown`, `reminder`, `flapping` or `closed`.',
      level: 'The value at that time.',
      form: '`single`, `group` or `digest` (the daily summary).',
      made_at: SELF_EXPLANATORY,
      outcome:
        '`delivered`; `under_way`; `unknown`: the receiver may have the message; `refused`: the message was sent again under another id; `given_up`.',
      attempts: SELF_EXPLANATORY,
      delivered_at: 'NULL until the message is delivered.',
      last_error: 'Error of the last attempt. NULL when the attempt succeeded.',
    },
  },
  finance_tenants: {
    row: 'One row per workspace and tenant.',
    columns: {
      workspace_id: WORKSPACE,
      tenant_id: TENANT,
      display_name: 'As imported.',
      external_ref: 'As imported.',
      first_seen_at: 'The time when a run first read the tenant. NULL without usage.',
      labels: 'The imported labels, a JSON object.',
      named_at: 'The time of the import.',
    },
  },
  finance_freshness: {
    row: 'One row per workspace that is read.',
    columns: {
      workspace_id: WORKSPACE,
      last_complete_run_at: 'The time when the last run was applied.',
      last_attempt_at: SELF_EXPLANATORY,
      last_status: SELF_EXPLANATORY,
      covers_from: 'The first and the last period that was read.',
      covers_to: 'The first and the last period that was read.',
    },
  },
  finance_runs: {
    row: 'One row per run, applied or not.',
    columns: {
      run_id: SELF_EXPLANATORY,
      workspace_id: WORKSPACE,
      status:
        '`running`, `applied`, `failed`, `unstable`, `suspicious_empty`, `suspicious_shrink` or `superseded` ([meaning](#the-life-of-a-run)).',
      from_period: 'The first and the last period that it reads. NULL: no limit.',
      to_period: 'The first and the last period that it reads. NULL: no limit.',
      started_at: SELF_EXPLANATORY,
      finished_at: 'NULL while the run is active.',
      pages: 'Pages of the last walk of the run.',
      records: 'Records of the last walk of the run.',
      entries: 'The number of entries that the run wrote.',
      digest: 'NULL when the run was not applied.',
      error_code: 'The reason why it was not applied.',
      kind: '`scheduled`, `reconcile` or `manual`.',
      slot: 'The cron slot of the run. NULL for a manual run.',
      error_message: 'The reason why it was not applied.',
    },
  },
};
