import { RULES, type RuleName, SEVERITIES, type Severity } from '../../core/text/alert-words.ts';

interface RuleForm {
  /** Stored with each alert; raised whenever the same figures could give another answer than before. */
  version: number;
  /** What people call an alert of it. */
  title: string;
  /** How bad its alerts are; of both, critical from when it has happened. */
  severity: Severity | 'both';
  /** It is about our own work, not about what is used. */
  isOwn?: true;
  /** It finds growth, which a plan expects; of one that `goes on` an open period adds to it. */
  growth?: 'goes on' | 'is over';
  /** It goes from likely over happened to settled. */
  hasLevels?: true;
  /** It compares two readings of one period, which a service may take back and give again. */
  ofReadings?: true;
  /** It keeps a workspace from being read: several of one service have it at once, and a complete run proves it gone. */
  isOfReading?: true;
}

/** What is so of each rule, once: lists of rules are taken from here. */
const TABLE = {
  jump: { version: 6, title: 'jump', severity: 'both', growth: 'goes on', hasLevels: true },
  drop: { version: 4, title: 'fall', severity: 'warning' },
  new_spend: { version: 3, title: 'new spend', severity: 'warning', growth: 'goes on' },
  trend: { version: 1, title: 'growth', severity: 'warning', growth: 'is over' },
  budget: { version: 2, title: 'budget alert', severity: 'both' },
  regression: { version: 4, title: 'loss of credits', severity: 'warning', ofReadings: true },
  restatement: { version: 3, title: 'late change', severity: 'warning', ofReadings: true },
  withdrawn: { version: 2, title: 'withdrawal', severity: 'warning', ofReadings: true },
  workspace_jump: { version: 5, title: 'jump', severity: 'both', growth: 'goes on', hasLevels: true },
  incident: { version: 2, title: 'joint alert', severity: 'critical' },
  sync_stale: { version: 1, title: 'missing run', severity: 'critical', isOwn: true, isOfReading: true },
  sync_failed: { version: 2, title: 'failed sync', severity: 'critical', isOwn: true, isOfReading: true },
  job_failed: { version: 2, title: 'failure', severity: 'both', isOwn: true },
} as const satisfies Record<RuleName, RuleForm>;

/** The rules about our own work. */
export type SelfRule = {
  [Rule in RuleName]: (typeof TABLE)[Rule] extends { isOwn: true } ? Rule : never;
}[RuleName];

/** The rules of which something is so. */
export function rulesWith(isSo: (form: RuleForm) => boolean): readonly RuleName[] {
  return RULES.filter((rule) => isSo(TABLE[rule]));
}

/** It keeps a workspace from being read. */
export function isOfReading(rule: RuleName): boolean {
  const form: RuleForm = TABLE[rule];
  return form.isOfReading === true;
}

export function ruleTitle(rule: RuleName): string {
  return TABLE[rule].title;
}

/** The severities that its alerts can have. */
export function ruleSeverities(rule: RuleName): readonly Severity[] {
  const { severity } = TABLE[rule];
  return severity === 'both' ? SEVERITIES : [severity];
}

/** About ourselves. */
export function isSelfRule(rule: RuleName): rule is SelfRule {
  const form: RuleForm = TABLE[rule];
  return form.isOwn === true;
}

export function ruleVersion(rule: RuleName): number {
  return TABLE[rule].version;
}
