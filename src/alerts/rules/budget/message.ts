import { percentOf } from '../../figures/percent.ts';
import type { Facts } from '../../messages/facts/facts.ts';
import { dayName, daysOf, grouped } from '../../messages/facts/names.ts';
import { forecast, forecastWords, heads, isOpenMonth } from '../../messages/facts/phrases.ts';
import type { FoundWords, UsageMessage } from '../message.ts';

export const budgetMessage: UsageMessage = {
  found: budgetFound,
  ended(facts) {
    const { used } = heads(facts);
    if (facts.credits === null || facts.threshold === null) return { figures: '', why: 'It has no budget any more.' };
    const why = isOpenMonth(facts) ? forecastWords(facts) : '';
    return { figures: `${used} credits${partOfBudget(facts)}`, why };
  },
  foundForMany: (month) => `are near or over their ${month} budget`,
  cost: (amount) => `Costs ${amount} beyond the budget.`,
  comparison: (facts) => ` (budget ${budgetWords(facts)})`,
};

function budgetFound(facts: Facts): FoundWords {
  const { month, used, current } = heads(facts);
  const { evidence, threshold, period, created_at } = facts;
  const limit = threshold ?? 0n;
  const { projection } = evidence;
  if (current < limit && projection !== null && period !== null && projection.credits >= limit) {
    const left = Number(limit - current) / Number(projection.credits - current);
    const passed = Number(projection.elapsed_fraction);
    const days = daysOf(period);
    const usedUp = Math.min(days, Math.floor((passed + (1 - passed) * left) * days) + 1);
    return {
      title: `${month} forecast ${forecast(facts)} credits, budget ${budgetWords(facts)}`,
      figures: [`${used} so far${partOfBudget(facts)}. Used up around ${dayName(period, usedUp, created_at)}.`],
    };
  }
  const over = current > limit && evidence.detail === null ? `${grouped(current - limit)} over the budget.` : '';
  return { title: `${used} credits in ${month}${partOfBudget(facts)}`, figures: [over, forecastWords(facts)] };
}

/** Formats a budget in credits. A budget in money is shown as the credits that the money pays for. */
function budgetWords({ threshold, evidence }: Facts): string {
  return evidence.detail === null ? grouped(threshold ?? 0n) : `for ${grouped(threshold ?? 0n)} credits`;
}

/** Formats how much of the budget is used, in the unit of the budget (credits or money). */
function partOfBudget({ threshold, credits, evidence }: Facts): string {
  if (evidence.detail !== null) return ` ${evidence.detail}`;
  const [limit, percent] = [threshold ?? 0n, percentOf(credits?.current ?? 0n, threshold ?? 0n)];
  return `, ${grouped(percent ?? 0)}% of its budget of ${grouped(limit)}`;
}
