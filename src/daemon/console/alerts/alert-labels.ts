import type { RuleName } from '../../../core/text/alert-words.ts';

/** The names of the rules for people. */
export const RULE_LABELS: Readonly<Record<RuleName, string>> = {
  jump: 'Jump',
  drop: 'Drop',
  new_spend: 'New spend',
  budget: 'Budget',
  margin: 'Margin',
  regression: 'Regression',
  restatement: 'Restatement',
  withdrawn: 'Withdrawn',
  workspace_jump: 'Workspace jump',
  standstill: 'Standstill',
  sync_stale: 'Stale sync',
  sync_failed: 'Failed sync',
  job_failed: 'Failed job',
};

/** Returns the label of a rule, or its name if it has none. */
export function ruleLabel(rule: string): string {
  return (RULE_LABELS as Readonly<Record<string, string>>)[rule] ?? rule;
}
