import type { RuleName } from '../../core/text/alert-words.ts';
import { budget } from './budget/detect.ts';
import { drop } from './drop/detect.ts';
import { jump } from './jump/detect.ts';
import { margin } from './margin/detect.ts';
import { newSpend } from './new-spend/detect.ts';
import { regression } from './regression/detect.ts';
import { restatement, withdrawn } from './restatement/detect.ts';
import type { UsageRule } from './rule.ts';
import { standstill } from './standstill/detect.ts';
import { workspaceJump } from './workspace-jump/detect.ts';

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
