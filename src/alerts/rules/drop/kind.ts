import { dateName, grouped } from '../../messages/facts/names.ts';
import { baselineWords, heads, isOpen, settled } from '../../messages/facts/phrases.ts';
import type { UsageKind } from '../kind.ts';

export const drop: UsageKind = {
  kind: 'usage',
  version: 5,
  title: 'fall',
  severity: 'warning',
  isFall: true,
  ofSettled: true,
  canWait: true,
  rename: 'stop',
  quietBy: 'ratio',
  docs: {
    holds: {
      likely:
        'nothing used for longer than it ever paused in the four weeks before, at least three days; used on ten days of them',
      settled: 'the period has settled, and what was used before would be a jump against what is used now',
    },
  },
  words: {
    found(facts) {
      const { evidence, level, credits, threshold } = facts;
      const { who, month, used, current } = heads(facts);
      if (level === 'likely') {
        const days = evidence.detail ?? 'for days';
        return [`${who} has used nothing ${days}: ${used} credits in ${month}; ${baselineWords(facts)}.`];
      }
      const change = credits?.change_percent ?? null;
      const less = change === null || current < 0n ? '' : `${grouped(-change)}% less: `;
      return [
        `${who} used ${used} credits in ${month}; ${baselineWords(facts)}.`,
        `That is ${less}up to ${grouped(threshold ?? 0n)} counts as a fall.`,
        settled(facts),
      ];
    },
    over(facts) {
      const { who, month, used } = heads(facts);
      return facts.level === 'likely'
        ? `${who} ${facts.evidence.detail ?? 'is told as stopped no more'}; it ${isOpen(facts) ? 'has' : 'had'} ${used} credits in ${month}.`
        : `${who} is told as fallen no more: ${used} credits in ${month}; ${baselineWords(facts)}.`;
    },
    manyFound: (month, likely) =>
      ({
        all: `have stopped in ${month}`,
        some: `have stopped in ${month} or used far less`,
        none: `used far less in ${month}`,
      })[likely],
    cost: 'The credits that are missing cost',
  },
};

export const standstill: UsageKind = {
  kind: 'usage',
  version: 1,
  title: 'standstill',
  severity: 'critical',
  explainsStops: true,
  docs: {
    holds: {
      '': 'no figure of the workspace has risen for a day longer than it ever paused in the four weeks before, at most three days; used on ten days of them',
    },
  },
  words: {
    found(facts) {
      const { who } = heads(facts);
      const { detail } = facts.evidence;
      const since = detail === null ? '' : ` since ${dateName(detail, facts.created_at)}`;
      return [
        `No tenant of ${who} has used anything${since}, longer than the workspace paused in the four weeks before.`,
        'Its metering has probably stopped: ask the service.',
      ];
    },
    over: (facts) => `Figures of ${heads(facts).who} change again.`,
    manyFound: () => 'have come to a standstill',
  },
};
