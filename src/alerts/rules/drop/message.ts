import { grouped } from '../../messages/facts/names.ts';
import { baselineWords, heads, isOpenMonth, settled } from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const dropMessage: UsageMessage = {
  found(facts) {
    const { evidence, level, credits, threshold } = facts;
    const { who, month, used, current } = heads(facts);
    if (level === 'likely') {
      const days = evidence.detail ?? 'for days';
      return [`${who} has used nothing ${days}: ${used} credits in ${month}; ${baselineWords(facts)}.`];
    }
    const change = credits?.change_percent ?? null;
    const limit = grouped(threshold ?? 0n);
    const down = change === null || current < 0n ? '' : `Down ${grouped(-change)}% `;
    return [
      `${who} used ${used} credits in ${month}; ${baselineWords(facts)}.`,
      down === '' ? `Alerts at ${limit} or less.` : `${down}(alerts at ${limit} or less).`,
      settled(facts),
    ];
  },
  ended(facts) {
    const { who, month, used } = heads(facts);
    return facts.level === 'likely'
      ? `${who} ${facts.evidence.detail ?? 'is no longer reported as stopped'}; it ${isOpenMonth(facts) ? 'has' : 'had'} ${used} credits in ${month}.`
      : `${who} is no longer reported as a drop: ${used} credits in ${month}; ${baselineWords(facts)}.`;
  },
  foundForMany: (month, likely) =>
    ({
      all: `have stopped in ${month}`,
      some: `have stopped in ${month} or used far less`,
      none: `used far less in ${month}`,
    })[likely],
  cost: 'The credits that are missing cost',
};
