import { grouped, roundedForecast } from '../../messages/facts/names.ts';
import { heads } from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const marginMessage: UsageMessage = {
  found(facts) {
    const { month, used } = heads(facts);
    const { projection, detail } = facts.evidence;
    const sums = detail === null ? '' : `, ${detail}`;
    const title = `${facts.level === 'likely' ? 'probably ' : ''}below cost in ${month}${sums}`;
    if (projection === null) return { title, figures: [`For ${used} credits.`] };
    const expected = grouped(roundedForecast(BigInt(projection.credits)));
    return { title, figures: [`At the forecast of ${expected} credits. ${used} so far.`] };
  },
  ended: () => ({ figures: '', why: 'No longer below cost.' }),
  foundForMany: (month) => `are below cost in ${month}`,
};
