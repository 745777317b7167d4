import { BudgetTable, budgetUse } from '../../alerts/rules/budget/budget-table.ts';
import type { Budget } from '../../config/types.ts';
import type { Period } from '../../core/period.ts';
import { creditPricer } from '../../ledger/journal/charges/credit-pricer.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { recordedUsage } from '../queries/recorded-usage.ts';

export interface PageBudget {
  /** The tenant, or the workspace as a whole. */
  name: string;
  /** That may be used, and that are. */
  credits: bigint;
  used: bigint;
}

interface BudgetRequest {
  workspaceId: string;
  period: Period;
  /** Credits of the whole workspace in the period. */
  total: bigint;
  /** Tenants that are named at most. */
  limit: number;
  /** What people call a tenant; of null: the workspace. */
  nameOf: (tenantId: string | null) => string;
}

/** What a period has used of the budgets: of the workspace's first, then of tenants, the most used first. */
export function budgetsUsed(
  connection: LedgerConnection,
  budgets: readonly Budget[],
  { workspaceId, period, total, limit, nameOf }: BudgetRequest,
): PageBudget[] {
  const table = new BudgetTable(budgets);
  const whole = table.ofWorkspace()?.credits ?? null;
  const found: PageBudget[] = whole === null ? [] : [{ name: nameOf(null), credits: whole, used: total }];
  if (budgets.every(({ tenant }) => tenant === null)) return found;
  const priceOf = creditPricer(connection, workspaceId);
  const ofTenants: { tenantId: string; credits: bigint; used: bigint }[] = [];
  for (const { tenantId, credits: used } of recordedUsage(connection, { workspaceId, period })) {
    const budget = table.ofTenant(tenantId);
    const use = budget && budgetUse(budget, used, (credits) => priceOf(tenantId, period, credits));
    if (use !== null) ofTenants.push({ tenantId, credits: use.limit, used });
  }
  // By the share that is used, exactly: a/b against c/d.
  ofTenants.sort((a, b) => Number(b.used * a.credits - a.used * b.credits) || (a.tenantId < b.tenantId ? -1 : 1));
  return [
    ...found,
    ...ofTenants.slice(0, limit).map(({ tenantId, credits, used }) => ({ name: nameOf(tenantId), credits, used })),
  ];
}
