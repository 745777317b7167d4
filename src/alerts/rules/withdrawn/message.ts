import { grouped } from '../../messages/facts/names.ts';
import { heads } from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const withdrawnMessage: UsageMessage = {
  found(facts) {
    const { month, used, previous, current } = heads(facts);
    if (current > 0n) {
      return {
        title: `listed again in ${month}, ${used} credits`,
        figures: ['It was missing more than once, so the alert ends after a week without a change.'],
      };
    }
    return { title: `no longer listed in ${month}, it had ${grouped(previous)} credits`, figures: [] };
  },
  ended: (facts) => ({ figures: `${heads(facts).used} credits`, why: 'It is listed again.' }),
  foundForMany: (month) => `are no longer listed in ${month}`,
  cost: (amount, { credits }) => ((credits?.change ?? 0n) < 0n ? `These credits cost ${amount}.` : ''),
};
