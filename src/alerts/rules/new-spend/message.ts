import { dateName, grouped, monthName, named } from '../../messages/facts/names.ts';
import { baselineMonth, goesOn, heads, plan } from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const newSpendMessage: UsageMessage = {
  found(facts) {
    const { who, month, used } = heads(facts);
    const { predecessor, detail: last } = facts.evidence;
    if (predecessor !== null) {
      const since = dateName(predecessor.last_day, facts.created_at);
      return [
        `${who} is probably the new id of ${named(predecessor.tenant_id)}, which used ${grouped(predecessor.daily_credits)} credits a day and has used nothing since ${since}.`,
        `${who} has used ${grouped(predecessor.new_daily_credits)} a day since it began: ${used} credits in ${month}, none in ${baselineMonth(facts)}.`,
        goesOn(facts),
        plan(facts),
      ];
    }
    return [
      `${who} is ${last === null ? 'new' : `back after its last credits in ${monthName(last, facts.created_at)}`}: ${used} credits in ${month}, none in ${baselineMonth(facts)}.`,
      // It was likely because of a predecessor. A critical one may be worse by its amount alone.
      facts.event === 'worse' && facts.severity === 'warning'
        ? 'It is not the new id of another tenant: that one uses credits again.'
        : '',
      `Limit for new tenants: ${grouped(facts.threshold ?? 0n)}.`,
      goesOn(facts),
      plan(facts),
    ];
  },
  ended(facts) {
    const { who, month, used, current } = heads(facts);
    const limit = facts.threshold ?? 0n;
    const why =
      current < limit
        ? `under the limit of ${grouped(limit)} for new tenants`
        : `and had credits in ${baselineMonth(facts)} after all`;
    return `${who} has ${used} credits in ${month}, ${why}.`;
  },
  foundForMany: (month, likely) =>
    likely === 'all' ? `are probably new ids of others in ${month}` : `have begun to use credits in ${month}`,
  cost: 'That costs',
  comparison: () => '',
};
