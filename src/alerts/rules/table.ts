import { RULES, type RuleName } from '../../core/text/alert-words.ts';

interface RuleForm {
  /** Stored with each alert; raised whenever the same figures could give another answer than before. */
  version: number;
  /** What it is about: what is used, our own work for a workspace, or our own for the ledger as a whole. */
  about: 'usage' | 'our workspace' | 'our ledger';
  /** It finds growth, which a plan expects; of one that `goes on` an open period adds to it. */
  growth?: 'goes on' | 'is over';
  /** It goes from likely over happened to settled. */
  hasLevels?: true;
  /** It compares two readings of one period, which a service may take back and give again. */
  ofReadings?: true;
}

/** What is so of each rule, once: lists of rules are taken from here. */
const TABLE = {
  jump: { version: 6, about: 'usage', growth: 'goes on', hasLevels: true },
  drop: { version: 4, about: 'usage' },
  new_spend: { version: 3, about: 'usage', growth: 'goes on' },
  trend: { version: 1, about: 'usage', growth: 'is over' },
  budget: { version: 2, about: 'usage' },
  regression: { version: 3, about: 'usage', ofReadings: true },
  restatement: { version: 3, about: 'usage', ofReadings: true },
  withdrawn: { version: 2, about: 'usage', ofReadings: true },
  workspace_jump: { version: 5, about: 'usage', growth: 'goes on', hasLevels: true },
  incident: { version: 2, about: 'usage' },
  sync_stale: { version: 1, about: 'our workspace' },
  sync_failed: { version: 1, about: 'our workspace' },
  auth_failed: { version: 1, about: 'our workspace' },
  clock_skew: { version: 1, about: 'our workspace' },
  publish_stale: { version: 1, about: 'our ledger' },
  export_failed: { version: 1, about: 'our ledger' },
  clock_moved: { version: 1, about: 'our ledger' },
  job_failed: { version: 1, about: 'our workspace' },
} as const satisfies Record<RuleName, RuleForm>;

type RuleAbout<About> = {
  [Rule in RuleName]: (typeof TABLE)[Rule]['about'] extends About ? Rule : never;
}[RuleName];

export type SelfRule = RuleAbout<'our workspace' | 'our ledger'>;
export type LedgerRule = RuleAbout<'our ledger'>;

/** The rules of which something is so. */
export function rulesWith(isSo: (form: RuleForm) => boolean): readonly RuleName[] {
  return RULES.filter((rule) => isSo(TABLE[rule]));
}

export function ruleVersion(rule: RuleName): number {
  return TABLE[rule].version;
}

/** About the ledger as a whole: no run of a workspace proves it gone, and nothing else explains it. */
export function isLedgerRule(rule: RuleName): rule is LedgerRule {
  return TABLE[rule].about === 'our ledger';
}
