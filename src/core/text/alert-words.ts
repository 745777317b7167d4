/** All rules: first the rules about tenants, then those about workspaces, then those about usage-ledger itself. */
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

/** Returns the rule's name. For a system alert, the cause is added: `sync_failed:credentials`. */
export function ruleNameWithCause(rule: string, cause: string | null): string {
  return cause === null ? rule : `${rule}:${cause}`;
}

export const SEVERITIES = ['warning', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

export const ALERT_STATES = ['pending', 'firing', 'acknowledged', 'resolved', 'expired'] as const;
export type AlertState = (typeof ALERT_STATES)[number];

/** The states of an alert whose cause has not ended. */
export const OPEN_ALERT_STATES: readonly AlertState[] = ['pending', 'firing', 'acknowledged'];
/**
 * `OPEN_ALERT_STATES` as a list in SQL. A query uses the partial index on these states only if it contains exactly this
 * text.
 */
export const OPEN_ALERT_STATES_SQL = `(${OPEN_ALERT_STATES.map((state) => `'${state}'`).join(', ')})`;

/**
 * What can happen to an alert. For each event except `baseline`, a notification is sent. `baseline` means that the
 * condition already existed at the first sync; it is only recorded.
 */
export const NOTIFICATION_EVENTS = [
  ...(['opened', 'again', 'worse', 'eased', 'grown', 'reminder', 'closed', 'flapping', 'baseline'] as const),
] as const;
export type NotificationEvent = (typeof NOTIFICATION_EVENTS)[number];

/**
 * How certain an alert's condition is. `likely`: a forecast expects that the limit will be passed. `happened`: the
 * limit is passed, and further usage of the open period can only confirm this. `settled`: the period is over and its
 * figures are final.
 */
export const LEVELS = ['likely', 'happened', 'settled'] as const;
export type Level = (typeof LEVELS)[number];
export const LEVEL_RANK: Readonly<Record<Level, number>> = { likely: 0, happened: 1, settled: 2 };
