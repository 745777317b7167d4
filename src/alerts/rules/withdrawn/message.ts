import { grouped } from '../../messages/facts/names.ts';
import { heads } from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const withdrawnMessage: UsageMessage = {
  found(facts) {
    const { month, previous } = heads(facts);
    return { title: `no longer listed in ${month}, it had ${grouped(previous)} credits`, figures: [] };
  },
  ended: (facts) => ({ figures: `${heads(facts).used} credits`, why: 'It is listed again.' }),
  foundForMany: (month) => `are no longer listed in ${month}`,
  cost: (amount) => `These credits cost ${amount}.`,
};
