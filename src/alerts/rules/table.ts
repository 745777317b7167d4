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
  /** It explains all of a lower rank, and what usage does. */
  explains?: 1 | 2;
  /** It compares settled months by their figures alone. */
  ofSettled?: true;
  /** What it finds when a month has settled is over, and can be read in the morning. */
  canWait?: true;
  /** Its size is a set of facts, one bit each. */
  isSet?: true;
}

/** What is so of each rule, once: lists of rules are taken from here. */
const TABLE = {
  jump: { version: 6, title: 'jump', severity: 'both', growth: 'goes on', hasLevels: true, ofSettled: true },
  drop: { version: 5, title: 'fall', severity: 'warning', ofSettled: true, canWait: true },
  new_spend: { version: 4, title: 'new spend', severity: 'warning', growth: 'goes on' },
  trend: { version: 1, title: 'growth', severity: 'warning', growth: 'is over', ofSettled: true, canWait: true },
  budget: { version: 2, title: 'budget alert', severity: 'both', isSet: true },
  regression: { version: 4, title: 'loss of credits', severity: 'warning', ofReadings: true },
  restatement: { version: 3, title: 'late change', severity: 'warning', ofReadings: true },
  withdrawn: { version: 2, title: 'withdrawal', severity: 'warning', ofReadings: true },
  workspace_jump: { version: 5, title: 'jump', severity: 'both', growth: 'goes on', hasLevels: true, ofSettled: true },
  incident: { version: 2, title: 'joint alert', severity: 'critical' },
  sync_stale: { version: 1, title: 'missing run', severity: 'critical', isOwn: true, isOfReading: true, explains: 1 },
  sync_failed: { version: 2, title: 'failed sync', severity: 'critical', isOwn: true, isOfReading: true, explains: 2 },
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

/** How much it explains; 0 is nothing. */
export function explainsRank(rule: RuleName): number {
  const form: RuleForm = TABLE[rule];
  return form.explains ?? 0;
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
