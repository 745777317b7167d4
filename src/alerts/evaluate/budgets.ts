import type { Budget } from '../../config/types.ts';
import { matchesPattern } from '../book/patterns.ts';

/** Which budget is whose: of several patterns that fit a tenant the longest wins. */
export class BudgetTable {
  readonly #workspace: Budget | null;
  readonly #tenants: { match: string; budget: Budget }[];

  constructor(budgets: readonly Budget[]) {
    this.#workspace = budgets.find(({ tenant }) => tenant === null) ?? null;
    this.#tenants = budgets
      .flatMap((budget) => (budget.tenant === null ? [] : { match: budget.tenant, budget }))
      .sort((a, b) => b.match.length - a.match.length);
  }

  ofWorkspace(): Budget | null {
    return this.#workspace;
  }

  ofTenant(tenantId: string): Budget | null {
    return this.#tenants.find(({ match }) => matchesPattern(match, tenantId))?.budget ?? null;
  }
}

/** Credits below which no tenant has reached anything that a budget tells of; null without budgets of tenants. */
export function leastBudgeted(budgets: readonly Budget[]): bigint | null {
  const steps = budgets.flatMap(({ tenant, credits, at }) => {
    return tenant === null ? [] : (credits * BigInt(Math.min(...at, 100))) / 100n;
  });
  return steps.length === 0 ? null : steps.reduce((least, step) => (step < least ? step : least));
}
