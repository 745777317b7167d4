import type { Budget } from '../../../config/types.ts';
import { LARGEST_FIGURE } from '../../../core/figure.ts';
import { formatMinor } from '../../../core/money.ts';
import { bySpecificity, matchesPattern } from '../../../core/text/patterns.ts';
import { percentOf } from '../../figures/percent.ts';
import { SLACK } from '../context/candidates.ts';

/** Assigns budgets to tenants: an exact id wins, then the longest matching pattern. */
export class BudgetTable {
  readonly #workspace: Budget | null;
  readonly #tenants: { match: string; budget: Budget }[];

  constructor(budgets: readonly Budget[]) {
    this.#workspace = budgets.find(({ tenant }) => tenant === null) ?? null;
    this.#tenants = budgets
      .flatMap((budget) => (budget.tenant === null ? [] : { match: budget.tenant, budget }))
      .sort(bySpecificity(({ match }) => match));
  }

  ofWorkspace(): Budget | null {
    return this.#workspace;
  }

  ofTenant(tenantId: string): Budget | null {
    return this.#tenants.find(({ match }) => matchesPattern(match, tenantId))?.budget ?? null;
  }
}

/**
 * Returns the credits below which no tenant can have reached a budget step; null if no tenant has a budget. `elapsed`
 * is the elapsed fraction of the period if forecasts are made, otherwise null. Tenants below this fraction of their
 * budget are not forecast, because that would read the history of almost every tenant.
 */
export function leastBudgeted(budgets: readonly Budget[], elapsed: number | null): bigint | null {
  const steps = budgets.flatMap(({ tenant, credits, at }) => {
    // A budget in money has no single limit in credits, because prices differ by tenant.
    if (credits === null) return 1n;
    const percent = Math.min(...at, 100, elapsed === null ? 100 : elapsed * SLACK * 100);
    return tenant === null ? [] : (credits * BigInt(Math.floor(percent * 1000))) / 100_000n;
  });
  return steps.length === 0 ? null : steps.reduce((least, step) => (step < least ? step : least));
}

export type Price = (credits: bigint) => { amountMinor: bigint; currency: string } | null;

/** A budget and its usage, both in credits or both in money. */
export interface BudgetUse {
  used: bigint;
  budget: bigint;
  /** Credits that use up the whole budget. */
  limit: bigint;
  /** Usage and budget in words if the budget is in money. */
  detail: string | null;
}

/** Computes the usage of a budget; null if no card prices the tenant in the budget's currency. */
export function budgetUse({ credits, money }: Budget, current: bigint, price: Price): BudgetUse | null {
  if (credits !== null) return { used: current, budget: credits, limit: credits, detail: null };
  const priced = price(current);
  if (money === undefined || priced === null || priced.currency !== money.currency) return null;
  const { currency, amountMinor: budget } = money;
  const used = priced.amountMinor;
  const words = `for ${formatMinor(used, currency)} ${currency}, ${percentOf(used, budget) ?? 0}% of its budget of ${formatMinor(budget, currency)} ${currency}`;
  return { used, budget, limit: creditsFor(budget, price), detail: words };
}

/** Returns the fewest credits that cost an amount; the largest figure of the ledger if no number of credits does. */
function creditsFor(amountMinor: bigint, price: Price): bigint {
  const isEnough = (credits: bigint): boolean => (price(credits)?.amountMinor ?? 0n) >= amountMinor;
  let [less, enough] = [0n, 1n];
  while (enough < LARGEST_FIGURE && !isEnough(enough)) [less, enough] = [enough, enough * 2n];
  while (enough - less > 1n) {
    const middle = (less + enough) / 2n;
    if (isEnough(middle)) enough = middle;
    else less = middle;
  }
  return enough < LARGEST_FIGURE ? enough : LARGEST_FIGURE;
}
