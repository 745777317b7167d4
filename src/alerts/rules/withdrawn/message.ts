import { grouped } from '../../messages/facts/names.ts';
import { heads } from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const withdrawnMessage: UsageMessage = {
  found(facts) {
    const { who, month } = heads(facts);
    return [`${who} is no longer listed in ${month}; it had ${grouped(facts.credits?.previous ?? 0n)} credits.`];
  },
  ended(facts) {
    const { who, month, used } = heads(facts);
    return `${who} is listed again in ${month}, with ${used} credits.`;
  },
  foundForMany: (month) => `are no longer listed in ${month}`,
  cost: 'These credits cost',
};
