import { clear, holds, type Judgement, type PeriodPhase } from './rule.ts';

export interface BudgetInput {
  /** Credits. */
  current: bigint;
  budget: bigint;
  /** Percent of the budget that are told of, ascending. */
  at: readonly number[];
  phase: PeriodPhase;
  /** What the open period comes to; null when nothing says so. */
  projection: bigint | null;
}

/**
 * How much of its budget a period has used: each step is told once a period, and once that it heads for more than all of
 * it. Critical from the whole of it on.
 */
export function judgeBudget({ current, budget, at, phase, projection }: BudgetInput): Judgement {
  const steps = at.filter((percent) => current * 100n >= budget * BigInt(percent));
  const facts = steps.reduce((set, _, index) => set | (1n << BigInt(index + 1)), 0n);
  const heads = !phase.over && current < budget && projection !== null && projection >= budget ? 1n : 0n;
  const measure = facts | heads;
  if (measure === 0n || (phase.settled && current < budget)) return clear(phase.settled);
  const isUsedUp = current >= budget;
  return holds({
    ...{ stage: isUsedUp ? 'certain' : 'pace', severity: isUsedUp ? 'critical' : 'warning' },
    ...{ threshold: budget, measure, isSet: true },
  });
}
