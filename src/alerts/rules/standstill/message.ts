import { momentName } from '../../messages/facts/names.ts';
import type { UsageMessage } from '../message.ts';

export const standstillMessage: UsageMessage = {
  found(facts) {
    const { detail } = facts.evidence;
    return {
      title: `no tenant has used anything${detail === null ? '' : ` since ${momentName(detail, facts)}`}`,
      figures: ['Longer than any pause of the workspace in the four weeks before.'],
      causes: ['Its metering has probably stopped: ask the service.'],
    };
  },
  ended: () => ({ figures: '', why: 'Figures change again.' }),
  foundForMany: () => 'have come to a standstill',
};
