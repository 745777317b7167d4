import { grouped } from '../../messages/facts/names.ts';
import { heads } from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const regressionMessage: UsageMessage = {
  found(facts) {
    const { month, used, previous, current } = heads(facts);
    if (current >= previous) {
      return {
        title: `lost credits of ${month} are back, ${used} credits`,
        figures: ['They were lost more than once, so the alert ends after a week without a change.'],
      };
    }
    return {
      title: `lost ${grouped(previous - current)} credits of ${month}, ${used} left`,
      figures: [`${grouped(previous)} without the loss.`],
    };
  },
  ended(facts) {
    const { month, used, previous, current } = heads(facts);
    const lost = grouped(previous - current);
    return {
      figures: `${used} credits`,
      why: previous > current ? `${month} has settled without the lost ${lost}.` : 'The lost credits are back.',
    };
  },
  foundForMany: (month) => `lost credits of ${month}`,
  grown: 'More has been lost since the last message.',
  cost: (amount, { credits }) => ((credits?.change ?? 0n) < 0n ? `The lost credits cost ${amount}.` : ''),
};
