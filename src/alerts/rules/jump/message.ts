import type { Facts } from '../../messages/facts/facts.ts';
import { dayName, grouped } from '../../messages/facts/names.ts';
import {
  baselineMonth,
  baselineWords,
  causeWords,
  forecast,
  forecastWords,
  heads,
  plan,
  settled,
  sinceWords,
  soFarWords,
} from '../../messages/facts/phrases.ts';
import type { EndedWords, UsageMessage } from '../message.ts';

/** Returns the words about a jump; `causesOf` gives the sentences of the second line. */
export function createJumpMessage(causesOf: (facts: Facts) => string[]): UsageMessage {
  return {
    found(facts) {
      const { month, used } = heads(facts);
      const limit = grouped(facts.threshold ?? 0n);
      const basis = facts.evidence.detail === null ? '' : `The limit follows from ${facts.evidence.detail}.`;
      const isLikely = facts.level === 'likely' && facts.evidence.projection !== null;
      const figures = isLikely
        ? [soFarWords(facts), sinceWords(facts)]
        : [`${baselineWords(facts)}${reached(facts)}`, settled(facts), forecastWords(facts), sinceWords(facts)];
      return {
        title: isLikely
          ? `${month} forecast ${forecast(facts)} credits, limit ${limit}`
          : `${used} credits in ${month}, limit ${limit}`,
        figures: [...figures, basis, plan(facts)],
        causes: causesOf(facts),
      };
    },
    ended: jumpEnded,
    foundForMany: (month, likely) =>
      ({
        all: `will probably pass their ${month} limit`,
        some: `are over their ${month} limit or will probably pass it`,
        none: `are over their ${month} limit`,
      })[likely],
    cost: (amount, facts) => `Costs ${amount} more than ${baselineMonth(facts)}.`,
  };
}

export const jumpMessage = createJumpMessage((facts) => [causeWords(facts)]);

function jumpEnded(facts: Facts): EndedWords {
  const { level, threshold, evidence } = facts;
  const { used, previous, current } = heads(facts);
  const { projection } = evidence;
  if (threshold === null || (current >= threshold && current > previous))
    return { figures: `${used} credits`, why: 'There is no earlier month to compare with any more.' };
  const limit = `limit ${grouped(threshold)}`;
  if (current >= threshold) return { figures: `${used} credits, ${limit}`, why: `No growth. ${baselineWords(facts)}` };
  if (projection === null || level !== 'likely')
    return { figures: `${used} credits, ${limit}`, why: `Under the limit. ${baselineWords(facts)}` };
  const figures = `forecast ${forecast(facts)} credits, ${limit}`;
  if (projection.credits >= threshold) return { figures, why: 'It may stay under the limit.' };
  return projection.credits <= previous
    ? { figures, why: `No growth is expected any more. ${baselineWords(facts)}` }
    : { figures, why: 'It will probably stay under the limit.' };
}

/** Names the first day at whose end a reading was over the limit. */
function reached({ evidence, threshold, period, created_at }: Facts): string {
  const days = evidence.daily_usage?.days.current ?? [];
  const at = threshold === null ? -1 : days.findIndex((credits) => credits !== null && credits >= threshold);
  return at < 0 || period === null ? '' : ` Limit passed by ${dayName(period, at + 1, created_at)}.`;
}
