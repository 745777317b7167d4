import type { Budget } from '../../../config/types.ts';
import { onceEach } from '../../../core/one-at-a-time.ts';
import { sumUsage } from '../../../ledger/store/sum-usage.ts';
import { budgetLimit, judgeBudget } from '../../rules/budget.ts';
import { judgeJump, paceIsTelling } from '../../rules/jump.ts';
import { buildThreshold, type CreditHistory } from '../../rules/measures/threshold.ts';
import { type Observation, observation } from '../../rules/observation.ts';
import type { Curve } from '../../rules/pace/curve.ts';
import { forecast } from '../../rules/pace/forecast.ts';
import { judgePace, type Pace } from '../../rules/pace/pace.ts';
import { clear, type Level, NO_USAGE, type UsageFigures } from '../../rules/rule.ts';
import { BudgetTable, budgetUse, type Price } from '../budgets.ts';
import type { TenantFacts } from '../candidates.ts';
import { comparedFigures } from './compared.ts';
import type { JudgeSources } from './judge-sources.ts';

/** With fewer tenants their own alerts say all that the total could. */
const FEW_TENANTS = 5;

/** The rules about a workspace as a whole, and about what it or a tenant may use. */
export interface TotalJudge {
  workspaceJump(periodKey: number, firing: Level | null): Observation;
  /** Null when there is no budget for it. */
  workspaceBudget(periodKey: number): Observation | null;
  /** `isNew`: no alert of it is open, so that only what holds matters. */
  tenantBudget(tenant: TenantFacts, isNew?: boolean): Observation | null;
}

export function createTotalJudge({
  connection,
  settings,
  factsOf,
  tenantId,
  curves,
  priceOf,
}: JudgeSources): TotalJudge {
  const budgets = new BudgetTable(settings.budgets);
  // An amount is one of a tenant: of a whole workspace it would be the noise of a month.
  const rules = { ...settings.workspace, minIncrease: null };
  const total = onceEach((periodKey: number) => {
    const { tenants, creditsUsed: credits, requestCount: requests } = sumUsage(connection, periodKey);
    return { figures: tenants === 0 ? null : { credits, requests }, tenants };
  });

  return {
    workspaceJump(periodKey, firing) {
      const facts = factsOf(periodKey);
      const { figures, tenants } = total(periodKey);
      const current = figures ?? NO_USAGE;
      const previous = total(periodKey - 1).figures;
      const history: CreditHistory = (before) => total(periodKey - before).figures?.credits ?? null;
      const built = buildThreshold(facts.period, history, rules);
      const curve = curves.ofTotal(periodKey, (key) => total(key).figures?.credits ?? 0n);
      let pace: Pace | null = null;
      const paceAgainst = (limit: bigint) => () => {
        pace = judgePace({ current: current.credits, limit, phase: facts.phase, curve });
        return pace;
      };
      const judged = judgeJump({
        ...{ current: current.credits, phase: facts.phase, firing },
        previous: { figures: previous, usable: facts.previousComplete && !facts.previousIsFirst },
        threshold: built === null ? null : { credits: built.credits, baseline: built.baseline },
        paceMinFraction: settings.workspace.paceMinFraction,
        pace: built === null ? null : paceAgainst(built.credits),
      });
      const judgement = tenants < FEW_TENANTS ? clear(true) : judged;
      const compared = comparedFigures(periodKey, built, (key) => total(key).figures);
      const isForetold = !facts.phase.over && (judgement.verdict === 'holds' || firing !== null);
      const seen = { rule: 'workspace_jump' as const, periodKey, tenantKey: null, judgement, current, built };
      return observation({
        ...seen,
        previous: compared,
        forecast: isForetold ? forecast({ current: current.credits, curve }, pace) : null,
        phase: facts.phase,
        threshold: built?.credits ?? null,
      });
    },
    workspaceBudget(periodKey) {
      const budget = budgets.ofWorkspace();
      if (budget === null) return null;
      const curve = () => curves.ofTotal(periodKey, (key) => total(key).figures?.credits ?? 0n);
      const figures = { current: total(periodKey).figures ?? NO_USAGE, previous: total(periodKey - 1).figures };
      return budgeted({ periodKey, tenantKey: null }, figures, budget, curve);
    },
    tenantBudget(tenant, isNew = false) {
      const { periodKey, tenantKey, previous } = tenant;
      const budget = budgets.ofTenant(tenantId(tenantKey));
      if (budget === null) return null;
      const curve = () => curves.of(periodKey, tenantKey);
      return budgeted(
        { periodKey, tenantKey },
        { current: tenant.current ?? NO_USAGE, previous },
        budget,
        curve,
        isNew,
      );
    },
  };

  function budgeted(
    subject: { periodKey: number; tenantKey: number | null },
    { current, previous }: { current: UsageFigures; previous: UsageFigures | null },
    budget: Budget,
    curve: () => Curve,
    isNew = false,
  ): Observation | null {
    const { phase, period } = factsOf(subject.periodKey);
    const tenant = subject.tenantKey === null ? null : tenantId(subject.tenantKey);
    const price: Price = (credits) => (tenant === null ? null : (priceOf?.(tenant, period, credits) ?? null));
    const use = budgetUse(budget, current.credits, price);
    if (use === null) return null;
    const { limit, detail } = use;
    const tells = use.used < use.budget && paceIsTelling(phase, settings.workspace.paceMinFraction);
    const input = { current: current.credits, limit: budgetLimit(limit), phase, isNew };
    const pace = tells ? judgePace({ ...input, curve: curve() }) : null;
    const judgement = judgeBudget({ ...use, at: budget.at, phase, pace });
    // What is not sure to come is not foretold.
    const foretold = pace?.verdict === 'ahead' ? forecast({ current: current.credits, curve: curve() }, pace) : null;
    const seen = { rule: 'budget' as const, ...subject, judgement, current, previous, phase };
    return observation({ ...seen, forecast: foretold, threshold: limit, detail });
  }
}
