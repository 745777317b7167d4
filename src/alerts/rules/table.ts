import { type LedgerRule, RULES, type RuleName, SEVERITIES, type Severity } from '../../core/text/alert-words.ts';

interface RuleForm {
  /** Stored with each alert; raised whenever the same figures could give another answer than before. */
  version: number;
  /** What people call an alert of it. */
  title: string;
  /** How bad its alerts are; of both, critical from when it has happened. */
  severity: Severity | 'both';
  /** What it is about: what is used, our own work for a workspace, or our own for the ledger as a whole. */
  about: 'usage' | 'our workspace' | 'our ledger';
  /** It finds growth, which a plan expects; of one that `goes on` an open period adds to it. */
  growth?: 'goes on' | 'is over';
  /** It goes from likely over happened to settled. */
  hasLevels?: true;
  /** It compares two readings of one period, which a service may take back and give again. */
  ofReadings?: true;
  /** Workspaces share what causes it: the host, the credentials, the clock. */
  isShared?: true;
}

/** What is so of each rule, once: lists of rules are taken from here. */
const TABLE = {
  jump: { version: 6, title: 'jump', severity: 'both', about: 'usage', growth: 'goes on', hasLevels: true },
  drop: { version: 4, title: 'fall', severity: 'warning', about: 'usage' },
  new_spend: { version: 3, title: 'new spend', severity: 'warning', about: 'usage', growth: 'goes on' },
  trend: { version: 1, title: 'growth', severity: 'warning', about: 'usage', growth: 'is over' },
  budget: { version: 2, title: 'budget alert', severity: 'both', about: 'usage' },
  regression: { version: 3, title: 'loss of credits', severity: 'warning', about: 'usage', ofReadings: true },
  restatement: { version: 3, title: 'late change', severity: 'warning', about: 'usage', ofReadings: true },
  withdrawn: { version: 2, title: 'withdrawal', severity: 'warning', about: 'usage', ofReadings: true },
  workspace_jump: { version: 5, title: 'jump', severity: 'both', about: 'usage', growth: 'goes on', hasLevels: true },
  incident: { version: 2, title: 'joint alert', severity: 'critical', about: 'usage' },
  sync_stale: { version: 1, title: 'missing run', severity: 'critical', about: 'our workspace', isShared: true },
  sync_failed: { version: 1, title: 'failed sync', severity: 'critical', about: 'our workspace', isShared: true },
  auth_failed: {
    version: 1,
    title: 'refusal of credentials',
    severity: 'critical',
    about: 'our workspace',
    isShared: true,
  },
  clock_skew: { version: 1, title: 'wrong clock', severity: 'critical', about: 'our workspace', isShared: true },
  publish_stale: { version: 1, title: 'late replica', severity: 'critical', about: 'our ledger' },
  export_failed: { version: 1, title: 'failure of exports', severity: 'warning', about: 'our ledger' },
  clock_moved: { version: 1, title: 'clock that was set back', severity: 'warning', about: 'our ledger' },
  job_failed: { version: 1, title: 'failure of alert rules', severity: 'critical', about: 'our workspace' },
} as const satisfies {
  [Rule in RuleName]: RuleForm & { about: Rule extends LedgerRule ? 'our ledger' : 'usage' | 'our workspace' };
};

type RuleAbout<About> = {
  [Rule in RuleName]: (typeof TABLE)[Rule]['about'] extends About ? Rule : never;
}[RuleName];

export type SelfRule = RuleAbout<'our workspace' | 'our ledger'>;

/** The rules of which something is so. */
export function rulesWith(isSo: (form: RuleForm) => boolean): readonly RuleName[] {
  return RULES.filter((rule) => isSo(TABLE[rule]));
}

/** Several workspaces of one host have it at once. */
export function isShared(rule: RuleName): boolean {
  const form: RuleForm = TABLE[rule];
  return form.isShared === true;
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
  return TABLE[rule].about !== 'usage';
}

export function ruleVersion(rule: RuleName): number {
  return TABLE[rule].version;
}

/** About the ledger as a whole: no run of a workspace proves it gone, and nothing else explains it. */
export function isLedgerRule(rule: RuleName): rule is LedgerRule {
  return TABLE[rule].about === 'our ledger';
}
