import { grouped } from '../../messages/facts/names.ts';
import { baselineMonth, baselineWords, heads, settled } from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const dropMessage: UsageMessage = {
  found(facts) {
    const { evidence, level, credits, threshold } = facts;
    const { month, used, current } = heads(facts);
    if (level === 'likely') {
      return {
        title: `no usage${evidence.detail === null ? '' : ` ${evidence.detail}`}`,
        figures: ['Longer than any pause in the four weeks before.', `${month} so far: ${used}.`, baselineWords(facts)],
      };
    }
    const change = credits?.change_percent ?? null;
    const down = change === null || change >= 0 || current < 0n ? '' : `, down ${grouped(-change)}%`;
    // Corrected figures may lie a little above the threshold while the alert is open.
    const limit = threshold === null || current > threshold ? '' : `Alerts at ${grouped(threshold)} or less.`;
    return {
      title: `${used} credits in ${month}${down}`,
      figures: [baselineWords(facts), limit, settled(facts)],
    };
  },
  ended(facts) {
    const { used } = heads(facts);
    const stopped = facts.evidence.detail === null ? 'No longer reported as stopped.' : `It ${facts.evidence.detail}.`;
    return {
      figures: `${used} credits`,
      why: facts.level === 'likely' ? stopped : `No longer far below the month before. ${baselineWords(facts)}`,
    };
  },
  foundForMany: (month, likely) =>
    ({
      all: `have stopped in ${month}`,
      some: `have stopped in ${month} or used far less`,
      none: `used far less in ${month}`,
    })[likely],
  cost: (amount, facts) => `Costs ${amount} less than ${baselineMonth(facts)}.`,
};
