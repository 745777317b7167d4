import type { Budget } from '../../../config/types.ts';
import type { PeriodPhase } from '../../figures/period-phase.ts';
import { NO_USAGE, type UsageFigures } from '../../figures/usage-figures.ts';
import { trendOf, type UsageForecast } from '../../forecast/forecast.ts';
import { canJudgePace, PACE_CONFIRMATION_MS } from '../../forecast/pace.ts';
import type { PeriodLook } from '../context/candidates.ts';
import { perRun, type RuleContext } from '../context/rule-context.ts';
import { clear, holds, INCONCLUSIVE, type Judgement, UNDECIDED } from '../judgement.ts';
import type { Detection, RuleResult } from '../rule.ts';
import { BudgetTable, budgetUse, leastBudgeted, type Price } from './budget-table.ts';

const budgetsOf = perRun(({ settings }) => new BudgetTable(settings.budgets));

/** Detects which steps of a budget have been reached, and forecasts an overrun. */
export const budgetDetection: Detection = {
  inPeriod: (context, look) => (look.isLate ? [] : [null, ...findBudgeted(context, look)]),
  ofWorkspace(context, periodKey) {
    const own = budgetsOf(context).ofWorkspace();
    if (own === null) return null;
    const { total } = context;
    const current = total(periodKey).figures ?? NO_USAGE;
    const result = judge(context, { periodKey, tenantKey: null, current }, own);
    return result && { ...result, current, previous: total(periodKey - 1).figures };
  },
  ofTenant(context, { periodKey, tenantKey, current }) {
    const own = budgetsOf(context).ofTenant(context.tenantId(tenantKey));
    if (own === null) return null;
    return judge(context, { periodKey, tenantKey, current: current ?? NO_USAGE }, own);
  },
};

/** Finds changed tenants that may have reached a budget step. */
function findBudgeted({ merged, settings }: RuleContext, { facts: { phase, periodKey } }: PeriodLook): number[] {
  const judgesPace = settings.paceFractions.some((fraction) => canJudgePace(phase, fraction));
  const least = leastBudgeted(settings.budgets, judgesPace ? phase.elapsedMs / phase.lengthMs : null);
  const range = merged.changed.get(periodKey);
  if (least === null || range === undefined) return [];
  return merged.connection
    .prepare(
      `SELECT cur.tenant_key FROM usage_entries e
       JOIN tenant_usage cur ON cur.period_key = e.period_key AND cur.tenant_key = e.tenant_key
       WHERE e.entry_id > @after AND e.entry_id <= @last AND +e.period_key = @periodKey AND cur.credits_used >= @least`,
    )
    .pluck()
    .all({ ...range, periodKey, least }) as number[];
}

interface Budgeted {
  periodKey: number;
  tenantKey: number | null;
  current: UsageFigures;
}

function judge(context: RuleContext, { periodKey, tenantKey, current }: Budgeted, own: Budget): RuleResult | null {
  const { factsOf, settings, priceOf } = context;
  const tenantId = tenantKey === null ? null : context.tenantId(tenantKey);
  const { phase, period } = factsOf(periodKey);
  const price: Price = (credits) =>
    tenantId === null ? null : (priceOf?.(tenantId, period, credits, current.requests) ?? null);
  const use = budgetUse(own, current.credits, price);
  if (use === null) return null;
  const { limit, detail } = use;
  const judgesPace = use.used >= 0n && use.used < use.budget && canJudgePace(phase, settings.workspace.paceMinFraction);
  const monthForecast = judgesPace ? context.monthForecast(periodKey, tenantKey) : null;
  // Only a certain forecast is shown.
  const shown = trendOf(monthForecast, budgetLimit(limit)) === 'ahead' ? monthForecast : null;
  return {
    judgement: judgeBudget({ ...use, at: own.at, phase, monthForecast }),
    forecast: shown,
    threshold: limit,
    detail,
  };
}

/** Steps beyond those that the budget configures, in percent. */
const STEPS_ABOVE_BUDGET = [150, 200, 300, 500, 1000, 2000, 5000, 10_000];

export interface BudgetInput {
  used: bigint;
  budget: bigint;
  /** Credits that use up the budget. */
  limit: bigint;
  /** Steps of the budget in percent, ascending. */
  at: readonly number[];
  phase: PeriodPhase;
  monthForecast: UsageForecast | null;
}

/** Returns the credits that a forecast must reach to count as over the budget: a twentieth more than the budget. */
export function budgetLimit(limit: bigint): bigint {
  return (limit * 21n + 19n) / 20n;
}

/**
 * Judges the usage of a budget. Each step is notified once a period. The forecast of an overrun is notified once, after
 * a day, unless a step has been reached. Critical from 100%.
 */
export function judgeBudget({ used, budget, limit, at, phase, monthForecast }: BudgetInput): Judgement {
  const highest = Math.max(100, ...at);
  const steps = [...at, ...STEPS_ABOVE_BUDGET.filter((percent) => percent > highest)];
  const reached = steps.filter((percent) => used * 100n >= budget * BigInt(percent));
  const facts = reached.reduce((set, _, index) => set | (1n << BigInt(index + 1)), 0n);
  const isUsedUp = used >= budget;
  const heading = trendOf(monthForecast, budgetLimit(limit));
  const heads = !phase.over && !isUsedUp && heading === 'ahead' ? 1n : 0n;
  if (phase.settled && !isUsedUp) return clear(true);
  if ((facts | heads) === 0n) return phase.over ? clear(false) : without(monthForecast, limit);
  return holds({
    level: isUsedUp ? 'happened' : 'likely',
    severity: isUsedUp ? 'critical' : 'warning',
    threshold: limit,
    magnitude: facts | heads,
    isBitMask: true,
    confirmAfterMs: facts === 0n ? PACE_CONFIRMATION_MS : null,
  });
}

/**
 * Judges a budget without a reached step or a forecast overrun. An alert about a forecast overrun ends when the
 * forecast falls below three quarters of the budget.
 */
function without(monthForecast: UsageForecast | null, limit: bigint): Judgement {
  if (trendOf(monthForecast, budgetLimit(limit)) === 'inconclusive') return INCONCLUSIVE;
  return monthForecast !== null && monthForecast.likely * 4n < limit * 3n ? clear(false) : UNDECIDED;
}
