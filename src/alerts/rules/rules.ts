import { type Level, RULES, type RuleName } from '../../core/text/alert-words.ts';
import { budgetDetection } from './budget/detect.ts';
import { budgetKind } from './budget/kind.ts';
import { budgetMessage } from './budget/message.ts';
import { dropDetection } from './drop/detect.ts';
import { dropKind } from './drop/kind.ts';
import { dropMessage } from './drop/message.ts';
import { jobFailedKind } from './job-failed/kind.ts';
import { jobFailedMessage } from './job-failed/message.ts';
import { jumpDetection } from './jump/detect.ts';
import { jumpKind } from './jump/kind.ts';
import { jumpMessage } from './jump/message.ts';
import type { InhibitionCondition, SystemKind, UsageKind } from './kind.ts';
import { marginDetection } from './margin/detect.ts';
import { marginKind } from './margin/kind.ts';
import { marginMessage } from './margin/message.ts';
import type { CauseMessage, UsageMessage } from './message.ts';
import { newSpendDetection } from './new-spend/detect.ts';
import { newSpendKind } from './new-spend/kind.ts';
import { newSpendMessage } from './new-spend/message.ts';
import { regressionDetection } from './regression/detect.ts';
import { regressionKind } from './regression/kind.ts';
import { regressionMessage } from './regression/message.ts';
import { restatementDetection } from './restatement/detect.ts';
import { restatementKind } from './restatement/kind.ts';
import { restatementMessage } from './restatement/message.ts';
import type { Detection } from './rule.ts';
import { standstillDetection } from './standstill/detect.ts';
import { standstillKind } from './standstill/kind.ts';
import { standstillMessage } from './standstill/message.ts';
import { syncFailedKind } from './sync-failed/kind.ts';
import { syncFailedMessage } from './sync-failed/message.ts';
import { syncStaleKind } from './sync-stale/kind.ts';
import { syncStaleMessage } from './sync-stale/message.ts';
import { withdrawnDetection } from './withdrawn/detect.ts';
import { withdrawnKind } from './withdrawn/kind.ts';
import { withdrawnMessage } from './withdrawn/message.ts';
import { workspaceJumpDetection } from './workspace-jump/detect.ts';
import { workspaceJumpKind } from './workspace-jump/kind.ts';
import { workspaceJumpMessage } from './workspace-jump/message.ts';

/** A rule about usage: facts about its alerts, their detection and their sentences. */
export interface UsageRule {
  type: 'usage';
  kind: UsageKind;
  detection: Detection;
  message: UsageMessage;
}

/** A rule for system alerts; the code that notices a fault calls its detection. */
export interface SystemRule {
  type: 'system';
  kind: SystemKind;
  message: Readonly<Record<string, CauseMessage>>;
}

/**
 * Every rule by its name. A new rule is a folder, one line here, and its name in `RULES`: configuration and ledger
 * check names against that list and cannot import rules. The program does not compile if one of the two is missing.
 */
export const RULE_TABLE: Readonly<Record<RuleName, UsageRule | SystemRule>> = {
  jump: { type: 'usage', kind: jumpKind, detection: jumpDetection, message: jumpMessage },
  drop: { type: 'usage', kind: dropKind, detection: dropDetection, message: dropMessage },
  new_spend: { type: 'usage', kind: newSpendKind, detection: newSpendDetection, message: newSpendMessage },
  budget: { type: 'usage', kind: budgetKind, detection: budgetDetection, message: budgetMessage },
  margin: { type: 'usage', kind: marginKind, detection: marginDetection, message: marginMessage },
  regression: { type: 'usage', kind: regressionKind, detection: regressionDetection, message: regressionMessage },
  restatement: { type: 'usage', kind: restatementKind, detection: restatementDetection, message: restatementMessage },
  withdrawn: { type: 'usage', kind: withdrawnKind, detection: withdrawnDetection, message: withdrawnMessage },
  workspace_jump: {
    type: 'usage',
    kind: workspaceJumpKind,
    detection: workspaceJumpDetection,
    message: workspaceJumpMessage,
  },
  standstill: { type: 'usage', kind: standstillKind, detection: standstillDetection, message: standstillMessage },
  sync_stale: { type: 'system', kind: syncStaleKind, message: syncStaleMessage },
  sync_failed: { type: 'system', kind: syncFailedKind, message: syncFailedMessage },
  job_failed: { type: 'system', kind: jobFailedKind, message: jobFailedMessage },
};

/** Returns a rule about usage; null for a system rule. */
export function usageRule(name: RuleName): UsageRule | null {
  const rule = RULE_TABLE[name];
  return rule.type === 'usage' ? rule : null;
}

/** Returns a system rule; null for a rule about usage. */
export function systemRule(name: RuleName): SystemRule | null {
  const rule = RULE_TABLE[name];
  return rule.type === 'system' ? rule : null;
}

export function usageKind(name: RuleName): UsageKind | null {
  return usageRule(name)?.kind ?? null;
}

/** Reports whether an alert is about the settled figures of a month. Such an alert is final: no later run changes it. */
export function isFinal({ rule, level }: { rule: RuleName; level: Level }): boolean {
  return level === 'settled' && usageKind(rule)?.levels?.settled === 'kept';
}

export function systemKind(name: RuleName): SystemKind | null {
  return systemRule(name)?.kind ?? null;
}

/** Returns the names of the usage rules whose facts fit a condition. */
export function usageRulesWith(fits: (kind: UsageKind) => boolean): readonly RuleName[] {
  return RULES.filter((name) => {
    const kind = usageKind(name);
    return kind !== null && fits(kind);
  });
}

export function isSystemRule(name: RuleName): boolean {
  return RULE_TABLE[name].type === 'system';
}

/** Names of the system rules. */
export const SYSTEM_RULES = RULES.filter(isSystemRule);

/** Names of the rules whose alerts may inhibit other alerts. */
export const INHIBITING_RULES: readonly RuleName[] = RULES.filter(
  (name) => RULE_TABLE[name].kind.inhibits !== undefined,
);

/** Reports whether alerts of a rule mean that a workspace cannot be read. */
export function stopsReading(name: RuleName): boolean {
  return systemKind(name)?.scope === 'workspace';
}

/** Reports whether a rule finds growth. The rest of an open month adds to growth, and a plan may expect growth. */
export function findsGrowth(name: RuleName): boolean {
  return usageKind(name)?.stake?.of === 'growth';
}

export function isInhibitedBy(name: RuleName, condition: InhibitionCondition): boolean {
  return usageKind(name)?.inhibitedBy?.includes(condition) === true;
}
