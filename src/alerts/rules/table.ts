import { RULES, type RuleName, SEVERITIES, type Severity } from '../../core/text/alert-words.ts';
import { budget } from './budget/budget.ts';
import { regression } from './corrections/regression.ts';
import { restatement } from './corrections/restatement.ts';
import { withdrawn } from './corrections/withdrawn.ts';
import { drop } from './drop/drop.ts';
import { standstill } from './drop/standstill.ts';
import { jump } from './jump/jump.ts';
import { workspaceJump } from './jump/workspace-jump.ts';
import { newSpend } from './new-spend/new-spend.ts';
import { jobFailed } from './own/job-failed.ts';
import { syncFailed } from './own/sync-failed.ts';
import { syncStale } from './own/sync-stale.ts';
import type { OwnRule, Rule, UsageRule } from './rule.ts';

/** Every rule: whatever asks what is so of one asks here. */
export const TABLE: Readonly<Record<RuleName, Rule>> = {
  jump,
  drop,
  new_spend: newSpend,
  budget,
  regression,
  restatement,
  withdrawn,
  workspace_jump: workspaceJump,
  standstill,
  sync_stale: syncStale,
  sync_failed: syncFailed,
  job_failed: jobFailed,
};

export function ruleOf(rule: RuleName): Rule {
  return TABLE[rule];
}

/** Null for a rule about our own work. */
export function usageRule(name: RuleName): UsageRule | null {
  const rule = TABLE[name];
  return rule.kind === 'usage' ? rule : null;
}

/** Null for a rule about usage. */
export function ownRule(name: RuleName): OwnRule | null {
  const rule = TABLE[name];
  return rule.kind === 'own' ? rule : null;
}

/** The rules about usage of which something is so. */
export function rulesWith(isSo: (rule: UsageRule) => boolean): readonly RuleName[] {
  return RULES.filter((name) => {
    const rule = usageRule(name);
    return rule !== null && isSo(rule);
  });
}

/** Rules about ourselves: while one of them fires, nobody is told of what the others find. */
export const SELF_RULES = RULES.filter(isSelfRule);

/** About ourselves. */
export function isSelfRule(rule: RuleName): boolean {
  return TABLE[rule].kind === 'own';
}

/** It keeps a workspace from being read. */
export function isOfReading(rule: RuleName): boolean {
  return ownRule(rule)?.isOfReading === true;
}

/** The severities that its alerts can have. */
export function ruleSeverities(rule: RuleName): readonly Severity[] {
  const { severity } = TABLE[rule];
  return severity === 'both' ? SEVERITIES : [severity];
}

export function ruleVersion(rule: RuleName): number {
  return TABLE[rule].version;
}
