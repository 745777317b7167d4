import type { Budget } from '../../../config/types.ts';
import { headingOf } from '../../measures/forecast/forecast.ts';
import { paceIsTelling } from '../../measures/forecast/telling.ts';
import { NO_USAGE, type UsageFigures } from '../../measures/judgement.ts';
import { percentOf } from '../../measures/percent.ts';
import { day, forecast as forecastOf, forecastWords, goesOn, heads } from '../../wording/facts-told.ts';
import { dayName, daysOf, grouped } from '../../wording/names.ts';
import type { Facts } from '../../wording/notification.ts';
import type { PeriodLook } from '../judging/candidates.ts';
import { type Judging, perRun } from '../judging/judging.ts';
import type { Said, UsageRule } from '../rule.ts';
import { BudgetTable, budgetUse, leastBudgeted, type Price } from './budget-table.ts';
import { budgetLimit, judgeBudget } from './judge-budget.ts';

const budgetsOf = perRun(({ settings }) => new BudgetTable(settings.budgets));

/** A step of a budget is reached, or a budget will probably be passed. */
export const budget: UsageRule = {
  ...{ kind: 'usage', version: 3, title: 'budget alert', severity: 'both' },
  ...{ isSet: true, overThreshold: true },
  docs: {
    tells: 'a step of a budget that is reached, or a budget that will probably be passed',
    holds: {
      '': 'a step of a budget is reached, or by its own past the period is expected to use a twentieth more than all of it',
    },
    severity: 'warning; critical from 100%',
  },
  words: {
    found,
    over(facts) {
      const [who, month, used] = heads(facts);
      if (facts.credits === null || facts.threshold === null) return `${who} has no budget any more.`;
      return `${who} has used ${used} credits in ${month}${partOfBudget(facts)}${forecastWords(facts)}.`;
    },
    manyFound: (month) => `are near or over their ${month} budget`,
    cost: 'The part over the budget costs',
    beside: (facts) => ` (budget ${budgetWords(facts)})`,
  },
  inPeriod: (judging, look) => (look.isLate ? [] : [null, ...findBudgeted(judging, look)]),
  ofWorkspace(judging, periodKey) {
    const own = budgetsOf(judging).ofWorkspace();
    if (own === null) return null;
    const { total } = judging;
    const current = total(periodKey).figures ?? NO_USAGE;
    const said = judge(judging, { periodKey, tenantKey: null, current }, own);
    return said && { ...said, current, previous: total(periodKey - 1).figures };
  },
  ofTenant(judging, { periodKey, tenantKey, current }) {
    const own = budgetsOf(judging).ofTenant(judging.tenantId(tenantKey));
    if (own === null) return null;
    return judge(judging, { periodKey, tenantKey, current: current ?? NO_USAGE }, own);
  },
};

/** Tenants that the run has changed and whose budget may have come to something that is told. */
function findBudgeted({ merged, settings }: Judging, { facts: { phase, periodKey } }: PeriodLook): number[] {
  const tells = settings.paceFractions.some((fraction) => paceIsTelling(phase, fraction));
  const least = leastBudgeted(settings.budgets, tells ? phase.elapsedMs / phase.lengthMs : null);
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
  /** Null: the workspace. */
  tenantKey: number | null;
  current: UsageFigures;
}

/** Null where no card prices the tenant. */
function judge(judging: Judging, { periodKey, tenantKey, current }: Budgeted, own: Budget): Said | null {
  const { factsOf, settings, priceOf } = judging;
  const tenantId = tenantKey === null ? null : judging.tenantId(tenantKey);
  const { phase, period } = factsOf(periodKey);
  const price: Price = (credits) => (tenantId === null ? null : (priceOf?.(tenantId, period, credits) ?? null));
  const use = budgetUse(own, current.credits, price);
  if (use === null) return null;
  const { limit, detail } = use;
  const tells = use.used >= 0n && use.used < use.budget && paceIsTelling(phase, settings.workspace.paceMinFraction);
  const outlook = tells ? judging.outlook(periodKey, tenantKey) : null;
  // What is not sure to come is not foretold.
  const foretold = headingOf(outlook, budgetLimit(limit)) === 'ahead' ? outlook : null;
  return {
    judgement: judgeBudget({ ...use, at: own.at, phase, outlook }),
    forecast: foretold,
    threshold: limit,
    detail,
  };
}

function found(facts: Facts): string[] {
  const [who, month, used] = heads(facts);
  const { evidence, threshold, credits, period, created_at } = facts;
  const limit = threshold ?? 0n;
  const current = credits?.current ?? 0n;
  const { projection } = evidence;
  if (current < limit && projection !== null && period !== null && projection.credits >= limit) {
    const left = Number(limit - current) / Number(projection.credits - current);
    const passed = Number(projection.elapsed_fraction);
    const days = daysOf(period);
    const usedUp = Math.min(days, Math.floor((passed + (1 - passed) * left) * days) + 1);
    return [
      `${who} will probably pass its ${month} budget: forecast ${forecastOf(facts)}, budget ${budgetWords(facts)}${day(facts)}.`,
      `So far it used ${used} credits${partOfBudget(facts)}; it is used up about ${dayName(period, usedUp, created_at)}.`,
    ];
  }
  const over = current > limit && evidence.detail === null ? `, ${grouped(current - limit)} over it` : '';
  return [`${who} used ${used} credits in ${month}${partOfBudget(facts)}${over}.`, goesOn(facts)];
}

/** Of one in money the credits that it pays for. */
function budgetWords({ threshold, evidence }: Facts): string {
  return evidence.detail === null ? grouped(threshold ?? 0n) : `for ${grouped(threshold ?? 0n)} credits`;
}

/** How much of it is used, in credits, or of one in money in that. */
function partOfBudget({ threshold, credits, evidence }: Facts): string {
  if (evidence.detail !== null) return ` ${evidence.detail}`;
  const [limit, percent] = [threshold ?? 0n, percentOf(credits?.current ?? 0n, threshold ?? 0n)];
  return `, ${grouped(percent ?? 0)}% of its budget of ${grouped(limit)}`;
}
