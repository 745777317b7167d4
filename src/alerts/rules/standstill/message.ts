import { dateName } from '../../messages/facts/names.ts';
import type { UsageMessage } from '../message.ts';

export const standstillMessage: UsageMessage = {
  found({ evidence, created_at }) {
    const since = evidence.detail === null ? '' : ` since ${dateName(evidence.detail, created_at)}`;
    return {
      title: `no tenant has used anything${since}`,
      figures: ['Longer than any pause of the workspace in the four weeks before.'],
      causes: ['Its metering has probably stopped: ask the service.'],
    };
  },
  ended: () => ({ figures: '', why: 'Figures change again.' }),
  foundForMany: () => 'have come to a standstill',
};
