/** A table that people and rules write to, beside the proven figures. */
export interface GuardedTable {
  table: string;
  /** The row's key in `row_changes`, in SQL; `ROW.` stands before each column. */
  key: string;
  columns: readonly string[];
  /** What a person calls the row, in SQL. */
  label: string;
}

/** What can mute an alert or change an amount. Left out are columns that each evaluation or sender works with. */
export const GUARDED_TABLES: readonly GuardedTable[] = [
  {
    table: 'silences',
    key: 'ROW.silence_key',
    columns: [
      ...['silence_id', 'kind', 'workspace_key', 'rule', 'tenant', 'period', 'up_to_credits', 'until', 'reason'],
      ...['created_by', 'created_at', 'ended_at', 'ended_by'],
    ],
    label: "ROW.kind || ' ' || ROW.silence_id",
  },
  {
    table: 'channel_states',
    key: 'ROW.name',
    columns: ['disabled_at', 'reason'],
    label: "'state of channel ' || ROW.name",
  },
  {
    table: 'alerts',
    key: 'ROW.alert_key',
    columns: [
      ...['alert_id', 'rule', 'workspace_key', 'tenant_key', 'period_key', 'stage', 'severity', 'state'],
      ...['first_fired_at', 'revision', 'level', 'notified_measure', 'incident_key', 'detail'],
    ],
    label: "'alert ' || ROW.alert_id",
  },
  {
    table: 'alert_transitions',
    key: "ROW.alert_key || ':' || ROW.revision",
    columns: [
      ...['change', 'state', 'stage', 'run_key', 'actor', 'at', 'current_credits', 'silent', 'silent_because', 'note'],
      'evidence',
    ],
    label: `'revision ' || ROW.revision || ' of alert '
      || coalesce((SELECT a.alert_id FROM alerts a WHERE a.alert_key = ROW.alert_key), 'number ' || ROW.alert_key)`,
  },
  {
    table: 'alert_feedback',
    key: 'ROW.feedback_key',
    columns: ['alert_key', 'label', 'note', 'actor', 'at'],
    label: "'feedback ' || ROW.feedback_key",
  },
  {
    table: 'outbox',
    key: 'ROW.notification_id',
    columns: [
      ...['alert_key', 'revision', 'channel', 'payload', 'state', 'attempts', 'attempts_before', 'created_at'],
      ...['next_attempt_at', 'delivered_at', 'last_error', 'digest_at', 'digest_id'],
    ],
    label: "'notification ' || ROW.notification_id",
  },
  {
    table: 'rate_cards',
    key: 'ROW.card_key',
    columns: [
      ...['name', 'currency', 'digest', 'definition', 'source', 'recorded_at', 'after_seq', 'retired_at'],
      'retired_after_seq',
    ],
    label: "'rate card ' || ROW.name || ' (' || ROW.card_key || ')'",
  },
  {
    table: 'tenant_names',
    key: "ROW.tenant_key || ':' || ROW.after_seq",
    columns: ['display_name', 'external_ref', 'labels', 'recorded_at'],
    label: `'name of tenant '
      || coalesce((SELECT t.tenant_id FROM tenants t WHERE t.tenant_key = ROW.tenant_key), 'number ' || ROW.tenant_key)`,
  },
  {
    table: 'workspace_moves',
    key: 'ROW.move_key',
    columns: ['workspace_key', 'action', 'at', 'actor', 'ledger_id', 'position', 'head_digest'],
    label: "ROW.action || ' of a workspace (' || ROW.move_key || ')'",
  },
];

/** The guarded columns of a row as one text, in SQL; `row` is `NEW`, `OLD` or the table's name. */
export function guardedText({ columns }: GuardedTable, row: string): string {
  return `json_array(${columns.map((column) => `${row}.${column}`).join(', ')})`;
}

/** An expression of a guarded table for one row: `NEW`, `OLD` or the table's name. */
export function ofRow(expression: string, row: string): string {
  return expression.replaceAll('ROW.', `${row}.`);
}
