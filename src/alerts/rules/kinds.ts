import { RULES, type RuleName } from '../../core/text/alert-words.ts';
import { budget } from './budget/kind.ts';
import { drop, standstill } from './drop/kind.ts';
import { jump, workspaceJump } from './jump/kind.ts';
import type { AlertKind, OwnKind, UsageKind } from './kind.ts';
import { margin } from './margin/kind.ts';
import { newSpend } from './new-spend/kind.ts';
import { regression, restatement, withdrawn } from './restatement/kind.ts';
import { jobFailed, syncFailed, syncStale } from './system/kind.ts';

/** Every kind of alert, by its rule: whatever asks what is so of one asks here. */
export const KINDS: Readonly<Record<RuleName, AlertKind>> = {
  jump,
  drop,
  new_spend: newSpend,
  budget,
  margin,
  regression,
  restatement,
  withdrawn,
  workspace_jump: workspaceJump,
  standstill,
  sync_stale: syncStale,
  sync_failed: syncFailed,
  job_failed: jobFailed,
};

/** Null for a rule about our own work. */
export function usageKind(rule: RuleName): UsageKind | null {
  const kind = KINDS[rule];
  return kind.kind === 'usage' ? kind : null;
}

/** Null for a rule about usage. */
export function ownKind(rule: RuleName): OwnKind | null {
  const kind = KINDS[rule];
  return kind.kind === 'own' ? kind : null;
}

/** The rules about usage of which something is so. */
export function rulesWith(isSo: (kind: UsageKind) => boolean): readonly RuleName[] {
  return RULES.filter((rule) => {
    const kind = usageKind(rule);
    return kind !== null && isSo(kind);
  });
}

/** Rules about ourselves: while one of them fires, nobody is told of what the others find. */
export const SELF_RULES = RULES.filter(isSelfRule);

/** Rules whose alerts may explain others. */
export const EXPLAINING: readonly RuleName[] = RULES.filter((rule) => {
  const { rename, explainsStops, explainsJumps } = usageKind(rule) ?? {};
  return (
    (ownKind(rule)?.explains ?? 0) > 0 || rename === 'newcomer' || explainsStops === true || explainsJumps === true
  );
});

export function isSelfRule(rule: RuleName): boolean {
  return KINDS[rule].kind === 'own';
}

export function isOfReading(rule: RuleName): boolean {
  return ownKind(rule)?.isOfReading === true;
}

export function isOfGrowth(rule: RuleName): boolean {
  return usageKind(rule)?.isGrowth === true;
}
