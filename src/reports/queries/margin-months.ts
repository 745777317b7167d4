import type { Period } from '../../core/period.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';

/** The summed revenue and cost, in minor units, of all tenants that have a margin in one month and currency. */
export interface MarginMonth {
  period: Period;
  currency: string;
  revenue: bigint;
  cost: bigint;
  /** The number of tenants that have a cost but no margin, for example because they have no price. */
  without: bigint;
}

/** Returns the sums of revenue and cost for each of the months and each currency, the latest month first. */
export function marginMonths(connection: LedgerDb, periods: readonly Period[]): MarginMonth[] {
  return connection
    .prepare(
      `SELECT period, currency, coalesce(sum(CASE WHEN no_margin IS NULL THEN revenue_minor END), 0) AS revenue,
         coalesce(sum(CASE WHEN no_margin IS NULL THEN cost_minor END), 0) AS cost,
         sum(no_margin IS NOT NULL) AS without
       FROM finance_margin WHERE period IN (SELECT value FROM json_each(?)) GROUP BY period, currency
       ORDER BY period DESC, currency`,
    )
    .safeIntegers()
    .all(JSON.stringify(periods)) as MarginMonth[];
}

/** A budget in an open month, and the part of the budget that is used. */
export interface BudgetUse {
  workspace_id: string;
  /** The tenant that has the budget; null for the budget of the whole workspace. */
  tenant_id: string | null;
  period: Period;
  credits_used: bigint | null;
  budget_credits: bigint | null;
  used_minor: bigint | null;
  budget_minor: bigint | null;
  currency: string | null;
  used_percent: number | null;
  projection: bigint | null;
}

/** Returns the budgets with the highest used percentage, highest first. */
export function largestBudgetUses(connection: LedgerDb, limit: number): BudgetUse[] {
  const rows = connection
    .prepare(
      `SELECT workspace_id, tenant_id, period, credits_used, budget_credits, used_minor, budget_minor, currency,
         used_percent, projection
       FROM finance_budgets ORDER BY used_percent DESC LIMIT ?`,
    )
    .safeIntegers()
    .all(limit) as (Omit<BudgetUse, 'used_percent'> & { used_percent: number | bigint | null })[];
  return rows.map((row) => ({ ...row, used_percent: row.used_percent === null ? null : Number(row.used_percent) }));
}
