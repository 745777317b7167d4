/** All rules: those about tenants, then those about workspaces, then those about usage-ledger itself. */
export const RULES = [
  'jump',
  'drop',
  'new_spend',
  'budget',
  'margin',
  'regression',
  'restatement',
  'withdrawn',
  'workspace_jump',
  'standstill',
  'sync_stale',
  'sync_failed',
  'job_failed',
] as const;
export type RuleName = (typeof RULES)[number];

/** A rule with the cause of a system alert: `sync_failed:credentials`. */
export function fullName(rule: string, cause: string | null): string {
  return cause === null ? rule : `${rule}:${cause}`;
}

export const SEVERITIES = ['warning', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

export const ALERT_STATES = ['pending', 'firing', 'acknowledged', 'resolved', 'expired'] as const;
export type AlertState = (typeof ALERT_STATES)[number];

/** The states of an alert whose cause has not ended. */
export const OPEN_ALERT_STATES: readonly AlertState[] = ['pending', 'firing', 'acknowledged'];
/** `OPEN_ALERT_STATES` as a list in SQL. Queries must repeat it exactly to use the partial index on these states. */
export const OPEN_ALERT_STATES_SQL = `(${OPEN_ALERT_STATES.map((state) => `'${state}'`).join(', ')})`;

/** Events of a notification. `baseline` is never sent: the alert held before any channel could be notified. */
export const NOTIFICATION_EVENTS = [
  ...(['opened', 'again', 'worse', 'eased', 'grown', 'reminder', 'closed', 'flapping', 'baseline'] as const),
] as const;
export type NotificationEvent = (typeof NOTIFICATION_EVENTS)[number];

/**
 * How sure a finding is. `likely`: it is expected to come. `happened`: it has come, and whatever is still missing from an
 * open period can only add to it. `settled`: the period is over and its figures have settled.
 */
export const LEVELS = ['likely', 'happened', 'settled'] as const;
export type Level = (typeof LEVELS)[number];
export const LEVEL_RANK: Readonly<Record<Level, number>> = { likely: 0, happened: 1, settled: 2 };
