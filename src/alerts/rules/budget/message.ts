import { percentOf } from '../../figures/percent.ts';
import type { Facts } from '../../messages/facts/facts.ts';
import { dayName, daysOf, grouped } from '../../messages/facts/names.ts';
import {
  day,
  forecast as forecastOf,
  forecastWords,
  goesOn,
  heads,
  isOpenMonth,
} from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const budgetMessage: UsageMessage = {
  found: budgetFound,
  ended(facts) {
    const { who, month, used } = heads(facts);
    if (facts.credits === null || facts.threshold === null) return `${who} has no budget any more.`;
    if (!isOpenMonth(facts)) return `${who} ended ${month} with ${used} credits${partOfBudget(facts)}.`;
    return `${who} has used ${used} credits in ${month} so far${partOfBudget(facts)}${forecastWords(facts)}.`;
  },
  foundForMany: (month) => `are near or over their ${month} budget`,
  cost: 'The part over the budget costs',
  comparison: (facts) => ` (budget ${budgetWords(facts)})`,
};

function budgetFound(facts: Facts): string[] {
  const { who, month, used, current } = heads(facts);
  const { evidence, threshold, period, created_at } = facts;
  const limit = threshold ?? 0n;
  const { projection } = evidence;
  if (current < limit && projection !== null && period !== null && projection.credits >= limit) {
    const left = Number(limit - current) / Number(projection.credits - current);
    const passed = Number(projection.elapsed_fraction);
    const days = daysOf(period);
    const usedUp = Math.min(days, Math.floor((passed + (1 - passed) * left) * days) + 1);
    return [
      `${who} will probably pass its ${month} budget: forecast ${forecastOf(facts)}, budget ${budgetWords(facts)}${day(facts)}.`,
      `So far it used ${used} credits${partOfBudget(facts)}; it will be used up around ${dayName(period, usedUp, created_at)}.`,
    ];
  }
  const over = current > limit && evidence.detail === null ? `, ${grouped(current - limit)} over it` : '';
  return [`${who} used ${used} credits in ${month}${partOfBudget(facts)}${over}.`, goesOn(facts)];
}

/** Formats a budget; for one in money the credits that it pays for. */
function budgetWords({ threshold, evidence }: Facts): string {
  return evidence.detail === null ? grouped(threshold ?? 0n) : `for ${grouped(threshold ?? 0n)} credits`;
}

/** How much of it is used, in credits, or of one in money in that. */
function partOfBudget({ threshold, credits, evidence }: Facts): string {
  if (evidence.detail !== null) return ` ${evidence.detail}`;
  const [limit, percent] = [threshold ?? 0n, percentOf(credits?.current ?? 0n, threshold ?? 0n)];
  return `, ${grouped(percent ?? 0)}% of its budget of ${grouped(limit)}`;
}
