import { grouped, signed } from '../../messages/facts/names.ts';
import { heads } from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const restatementMessage: UsageMessage = {
  found(facts) {
    const { who, month, used, previous, current } = heads(facts);
    const before = facts.level === 'settled' ? 'when it was closed' : 'when it had settled';
    const state =
      facts.level === 'settled'
        ? `While ${month} is closed, the difference is booked as an adjustment.`
        : `${month} is not closed.`;
    return [
      `${month} of ${who} changed: ${used} credits now, ${grouped(previous)} ${before} (${signed(current - previous)}).`,
      state,
    ];
  },
  ended(facts) {
    const { who, month, used, previous, current } = heads(facts);
    const apart = current - previous;
    return apart === 0n
      ? `${month} of ${who} is as it was before: ${used} credits.`
      : `${month} of ${who} is no longer reported as changed: ${used} credits now, ${grouped(previous)} before (${signed(apart)}).`;
  },
  foundForMany: (month) => `have changed figures for ${month}`,
  grown: 'The difference has grown since the last message.',
  cost: 'The difference is',
};
