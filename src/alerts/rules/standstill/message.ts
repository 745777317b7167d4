import { momentName } from '../../messages/facts/names.ts';
import { heads } from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const standstillMessage: UsageMessage = {
  found(facts) {
    const { who } = heads(facts);
    const { detail } = facts.evidence;
    const since = detail === null ? '' : ` since ${momentName(detail, facts)}`;
    return [
      `No tenant of ${who} has used anything${since}, longer than the workspace paused in the four weeks before.`,
      'Its metering has probably stopped: ask the service.',
    ];
  },
  ended: (facts) => `Figures of ${heads(facts).who} change again.`,
  foundForMany: () => 'have come to a standstill',
};
