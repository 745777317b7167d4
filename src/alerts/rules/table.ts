import type { RuleName } from '../../core/text/alert-words.ts';
import { budget } from './budget/budget.ts';
import { regression } from './corrections/regression.ts';
import { restatement, withdrawn } from './corrections/restatement.ts';
import { drop } from './drop/drop.ts';
import { standstill } from './drop/standstill.ts';
import { jump } from './jump/jump.ts';
import { workspaceJump } from './jump/workspace-jump.ts';
import { margin } from './margin/margin.ts';
import { newSpend } from './new-spend/new-spend.ts';
import type { UsageRule } from './rule.ts';

/** How each rule about usage judges; those about our own work are told of faults, see `own.ts`. */
export const JUDGES: Readonly<Partial<Record<RuleName, UsageRule>>> = {
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
};
