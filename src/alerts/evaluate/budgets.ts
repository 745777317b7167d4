import type { Budget } from '../../config/types.ts';
import { byExactness, matchesPattern } from '../../core/text/patterns.ts';

/** Which budget is whose: of several that fit a tenant an exact id wins, then the longest pattern. */
export class BudgetTable {
  readonly #workspace: Budget | null;
  readonly #tenants: { match: string; budget: Budget }[];

  constructor(budgets: readonly Budget[]) {
    this.#workspace = budgets.find(({ tenant }) => tenant === null) ?? null;
    this.#tenants = budgets
      .flatMap((budget) => (budget.tenant === null ? [] : { match: budget.tenant, budget }))
      .sort(byExactness(({ match }) => match));
  }

  ofWorkspace(): Budget | null {
    return this.#workspace;
  }

  ofTenant(tenantId: string): Budget | null {
    return this.#tenants.find(({ match }) => matchesPattern(match, tenantId))?.budget ?? null;
  }
}

/** Doubles need slack, so that no filter hides what the exact rule finds. */
const SLACK = 0.999999;

/**
 * Credits below which no tenant has come to anything that a budget tells of; null without budgets of tenants. `elapsed` is
 * how much of the period has passed where its pace is looked at, else null: who is behind that part of a budget does not
 * head for more than all of it.
 */
export function leastBudgeted(budgets: readonly Budget[], elapsed: number | null): bigint | null {
  const steps = budgets.flatMap(({ tenant, credits, at }) => {
    const percent = Math.min(...at, 100, elapsed === null ? 100 : elapsed * SLACK * 100);
    return tenant === null ? [] : (credits * BigInt(Math.floor(percent * 1000))) / 100_000n;
  });
  return steps.length === 0 ? null : steps.reduce((least, step) => (step < least ? step : least));
}
