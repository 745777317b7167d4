/** Every rule, tenants' first, then the workspace's, then those about ourselves. */
export const RULES = [
  'jump',
  'drop',
  'new_spend',
  'regression',
  'restatement',
  'withdrawn',
  'workspace_jump',
  'incident',
  'sync_stale',
  'sync_failed',
  'auth_failed',
  'clock_skew',
] as const;
export type RuleName = (typeof RULES)[number];

export const SEVERITIES = ['warning', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];
