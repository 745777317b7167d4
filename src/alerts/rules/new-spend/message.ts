import { dateName, grouped, monthName, named } from '../../messages/facts/names.ts';
import { baselineMonth, forecastWords, heads, plan, sinceWords } from '../../messages/facts/phrases.ts';
import type { UsageMessage } from '../message.ts';

export const newSpendMessage: UsageMessage = {
  found(facts) {
    const { month, used } = heads(facts);
    const { tenant_id, threshold, created_at, event, severity } = facts;
    const { predecessor, detail: last } = facts.evidence;
    if (predecessor !== null) {
      const since = dateName(predecessor.last_day, created_at);
      const before = `${named(predecessor.tenant_id)}: ${grouped(predecessor.daily_credits)} a day, nothing since ${since}.`;
      const now = `${named(tenant_id ?? '')}: ${grouped(predecessor.new_daily_credits)} a day since it began.`;
      return {
        title: `probably the new id of ${named(predecessor.tenant_id)}, ${used} credits in ${month}`,
        figures: [before, now, forecastWords(facts), plan(facts)],
      };
    }
    // A `worse` warning was likely before, because the tenant seemed to be a successor. A critical alert may be `worse`
    // only because its amount grew.
    const isNoSuccessor = event === 'worse' && severity === 'warning';
    return {
      title: `${last === null ? 'new' : 'back'}, ${used} credits in ${month}, limit ${grouped(threshold ?? 0n)}`,
      figures: [
        last === null ? '' : `Last credits in ${monthName(last, created_at)}.`,
        forecastWords(facts),
        sinceWords(facts),
        plan(facts),
      ],
      causes: [isNoSuccessor ? 'Not the new id of another tenant: that one uses credits again.' : ''],
    };
  },
  ended(facts) {
    const { used, current } = heads(facts);
    const limit = facts.threshold ?? 0n;
    return {
      figures: `${used} credits, limit ${grouped(limit)}`,
      why:
        current < limit ? 'Under the limit for new tenants.' : `It had credits in ${baselineMonth(facts)} after all.`,
    };
  },
  foundForMany: (month, likely) =>
    likely === 'all' ? `are probably new ids of others in ${month}` : `have begun to use credits in ${month}`,
  cost: (amount) => `Costs ${amount}.`,
  comparison: () => '',
};
