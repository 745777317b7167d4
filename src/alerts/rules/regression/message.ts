import { grouped } from '../../messages/facts/names.ts';
import { heads } from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const regressionMessage: UsageMessage = {
  found(facts) {
    const { who, month, used, previous, current } = heads(facts);
    return [
      `${who} lost ${grouped(previous - current)} credits of ${month}: ${used} now, ${grouped(previous)} without the loss.`,
    ];
  },
  ended(facts) {
    const { who, month, used, previous, current } = heads(facts);
    return previous > current
      ? `${month} has settled at ${used} credits, without the ${grouped(previous - current)} that ${who} had lost.`
      : `The credits of ${month} that ${who} had lost are back: ${used} now.`;
  },
  foundForMany: (month) => `lost credits of ${month}`,
  grown: 'More has been lost since the last message.',
  cost: 'The lost credits cost',
};
