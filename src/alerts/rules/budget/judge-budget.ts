import { clear, holds, type Judgement, type PeriodPhase, UNDECIDED, WAVERING } from '../../measures/judgement.ts';
import type { Pace } from '../../measures/pace/pace.ts';
import { PACE_CONFIRM_MS } from '../../measures/pace/telling.ts';

/** Percent of a budget that are told of beyond the steps that it has itself. */
const BEYOND = [150, 200, 300, 500, 1000, 2000, 5000, 10_000];

export interface BudgetInput {
  /** What is used, and what may be: both in credits, or both in money. */
  used: bigint;
  budget: bigint;
  /** Credits that the whole budget comes to. */
  limit: bigint;
  /** Percent of the budget that are told of, ascending. */
  at: readonly number[];
  phase: PeriodPhase;
  /** Where the open period heads, judged against `budgetLimit`; null when nothing says so. */
  pace: Pace | null;
}

/** A month heads for more than its budget when by its own past it comes to a twentieth more. */
export function budgetLimit(limit: bigint): bigint {
  return (limit * 21n + 19n) / 20n;
}

/**
 * How much of its budget a period has used: each step is told once a period, and once that it heads for more than all of
 * it, after a day of that where no step has been told. Critical from the whole of it on.
 */
export function judgeBudget({ used, budget, limit, at, phase, pace }: BudgetInput): Judgement {
  const highest = Math.max(100, ...at);
  const steps = [...at, ...BEYOND.filter((percent) => percent > highest)];
  const reached = steps.filter((percent) => used * 100n >= budget * BigInt(percent));
  const facts = reached.reduce((set, _, index) => set | (1n << BigInt(index + 1)), 0n);
  const isUsedUp = used >= budget;
  const heads = !phase.over && !isUsedUp && pace?.verdict === 'ahead' ? 1n : 0n;
  if (phase.settled && !isUsedUp) return clear(true);
  if ((facts | heads) === 0n) return phase.over ? clear(false) : without(pace, limit);
  return holds({
    ...{ level: isUsedUp ? 'happened' : 'likely', severity: isUsedUp ? 'critical' : 'warning' },
    ...{ threshold: limit, measure: facts | heads, isSet: true },
    confirmAfterMs: facts === 0n ? PACE_CONFIRM_MS : null,
  });
}

/** Who was told that it heads for more hears of the end once it is to stay below three quarters. */
function without(pace: Pace | null, limit: bigint): Judgement {
  if (pace?.verdict === 'wavering') return WAVERING;
  const isBelow = pace?.verdict === 'behind' && pace.projection !== null && pace.projection * 4n < limit * 3n;
  return isBelow ? clear(false) : UNDECIDED;
}
