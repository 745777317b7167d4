import { monthOf, placeOf } from '../wording/facts-told.ts';
import type { FormerRule } from './rule.ts';

/** Several tenants at once: what ledgers have of before groups were messages. */
export const incident: FormerRule = {
  ...{ kind: 'former', version: 2, title: 'joint alert', severity: 'critical' },
  words: {
    found: (facts) => [`Several tenants of ${placeOf(facts)} have alerts in ${monthOf(facts)}.`],
    over: (facts) => `None of the alerts of ${placeOf(facts)} in ${monthOf(facts)} is open any more.`,
    manyOver: (month) => `have no alert in ${month} any more`,
  },
};
