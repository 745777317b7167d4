import { headingOf, type Outlook } from '../../measures/forecast/forecast.ts';
import { PACE_CONFIRM_MS } from '../../measures/forecast/telling.ts';
import { clear, holds, type Judgement, type PeriodPhase, UNDECIDED, WAVERING } from '../../measures/judgement.ts';

/** Percent of a budget that are told of beyond the steps that it has itself. */
const BEYOND = [150, 200, 300, 500, 1000, 2000, 5000, 10_000];

export interface BudgetInput {
  used: bigint;
  budget: bigint;
  /** Credits that the whole budget comes to. */
  limit: bigint;
  /** Percent of the budget that are told of, ascending. */
  at: readonly number[];
  phase: PeriodPhase;
  outlook: Outlook | null;
}

/** A month heads for more than its budget when by its own past it comes to a twentieth more. */
export function budgetLimit(limit: bigint): bigint {
  return (limit * 21n + 19n) / 20n;
}

/**
 * How much of its budget a period has used: each step is told once a period, and once that it heads for more than all of
 * it, after a day of that where no step has been told. Critical from the whole of it on.
 */
export function judgeBudget({ used, budget, limit, at, phase, outlook }: BudgetInput): Judgement {
  const highest = Math.max(100, ...at);
  const steps = [...at, ...BEYOND.filter((percent) => percent > highest)];
  const reached = steps.filter((percent) => used * 100n >= budget * BigInt(percent));
  const facts = reached.reduce((set, _, index) => set | (1n << BigInt(index + 1)), 0n);
  const isUsedUp = used >= budget;
  const heading = headingOf(outlook, budgetLimit(limit));
  const heads = !phase.over && !isUsedUp && heading === 'ahead' ? 1n : 0n;
  if (phase.settled && !isUsedUp) return clear(true);
  if ((facts | heads) === 0n) return phase.over ? clear(false) : without(outlook, limit);
  return holds({
    level: isUsedUp ? 'happened' : 'likely',
    severity: isUsedUp ? 'critical' : 'warning',
    threshold: limit,
    measure: facts | heads,
    isSet: true,
    confirmAfterMs: facts === 0n ? PACE_CONFIRM_MS : null,
  });
}

/** Who was told that it heads for more hears of the end once it is to stay below three quarters. */
function without(outlook: Outlook | null, limit: bigint): Judgement {
  if (headingOf(outlook, budgetLimit(limit)) === 'wavering') return WAVERING;
  return outlook !== null && outlook.likely * 4n < limit * 3n ? clear(false) : UNDECIDED;
}
