import { grouped, signed } from '../../messages/facts/names.ts';
import { heads } from '../../messages/facts/phrases.ts';
import type { UsageKind } from '../kind.ts';

export const regression: UsageKind = {
  kind: 'usage',
  version: 5,
  title: 'loss of credits',
  severity: 'warning',
  ofReadings: true,
  endsSettled: true,
  docs: {
    holds: { '': 'the counter of an open period fell by a hundredth and by `min_credits`, or more' },
  },
  words: {
    found(facts) {
      const { who, month, used, previous, current } = heads(facts);
      return [
        `${who} lost ${grouped(previous - current)} credits of ${month}: ${used} now, ${grouped(previous)} without the loss.`,
      ];
    },
    over(facts) {
      const { who, month, used, previous, current } = heads(facts);
      return previous > current
        ? `${month} has settled at ${used} credits, without the ${grouped(previous - current)} that ${who} had lost.`
        : `The credits of ${month} that ${who} had lost are back: ${used} now.`;
    },
    manyFound: (month) => `lost credits of ${month}`,
    grown: 'More has been lost since the last message.',
    cost: 'The lost credits cost',
  },
};

export const restatement: UsageKind = {
  kind: 'usage',
  version: 4,
  title: 'late change',
  severity: 'warning',
  ofReadings: true,
  docs: {
    holds: { '': 'a closed period changed by `min_credits`; or one that had settled, by a hundredth, too' },
  },
  words: {
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
    over(facts) {
      const { who, month, used, previous, current } = heads(facts);
      const apart = current - previous;
      return apart === 0n
        ? `${month} of ${who} is as it was before: ${used} credits.`
        : `${month} of ${who} is told as changed no more: ${used} credits now, ${grouped(previous)} before (${signed(apart)}).`;
    },
    manyFound: (month) => `have other figures for ${month} than before`,
    grown: 'The difference has grown since the last message.',
    cost: 'The difference is',
  },
};

export const withdrawn: UsageKind = {
  kind: 'usage',
  version: 2,
  title: 'withdrawal',
  severity: 'warning',
  ofReadings: true,
  docs: {
    holds: { '': 'the service has stopped listing a record that had credits' },
  },
  words: {
    found(facts) {
      const { who, month } = heads(facts);
      return [`${who} is no longer listed in ${month}; it had ${grouped(facts.credits?.previous ?? 0n)} credits.`];
    },
    over(facts) {
      const { who, month, used } = heads(facts);
      return `${who} is listed again in ${month}, with ${used} credits.`;
    },
    manyFound: (month) => `are no longer listed in ${month}`,
    cost: 'These credits cost',
  },
};
