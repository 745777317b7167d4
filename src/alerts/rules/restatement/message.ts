import { grouped, signed } from '../../messages/facts/names.ts';
import { heads } from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const restatementMessage: UsageMessage = {
  found(facts) {
    const { month, used, previous, current } = heads(facts);
    const isClosed = facts.level === 'settled';
    if (current === previous) {
      return {
        title: `${isClosed ? 'closed' : 'settled'} ${month} is unchanged again, ${used} credits`,
        figures: ['It changed more than once, so the alert ends after a week without a change.'],
      };
    }
    return {
      title: `${isClosed ? 'closed' : 'settled'} ${month} changed by ${signed(current - previous)} to ${used} credits`,
      figures: [
        `${grouped(previous)} ${isClosed ? 'when it was closed' : 'when it had settled'}.`,
        isClosed ? `While ${month} is closed, the difference is booked as an adjustment.` : `${month} is not closed.`,
      ],
    };
  },
  ended(facts) {
    const { used, previous, current } = heads(facts);
    const apart = current - previous;
    const why =
      apart === 0n ? 'The figures are as they were before.' : `${grouped(previous)} before (${signed(apart)}).`;
    return { figures: `${used} credits`, why };
  },
  foundForMany: (month) => `have changed figures for ${month}`,
  grown: 'The difference has grown since the last message.',
  cost: (amount) => `The difference is ${amount}.`,
};
