import type { Period } from '../../core/period.ts';
import type { PeriodPricer, Used } from './period-pricer.ts';
import type { RateCard } from './rate-card.ts';

export interface RecordedUsage extends Used {
  workspaceId: string;
  tenantId: string;
  period: Period;
}

/** What both sets of cards make of the same usage, in minor units of one currency. */
export interface Comparison {
  currency: string;
  nowMinor: bigint;
  otherMinor: bigint;
}

export interface CardsComparison {
  months: (Comparison & { period: Period })[];
  /** By the size of the difference, largest first. */
  tenants: (Comparison & { workspaceId: string; tenantId: string })[];
  /** Whom the other cards leave without a price, of those whom a card fits, and why. */
  unpriced: { workspaceId: string; tenantId: string; period: Period; why: string }[];
}

export type PricerOf = (workspaceId: string, period: Period) => PeriodPricer<RateCard>;

/** Prices recorded usage as it is and by others, by month and by tenant. Usage must come period by period. */
export function compareCards(usage: Iterable<RecordedUsage>, now: PricerOf, others: PricerOf): CardsComparison {
  const months = new Map<string, Comparison & { period: Period }>();
  const tenants = new Map<string, Comparison & { workspaceId: string; tenantId: string }>();
  const unpriced: CardsComparison['unpriced'] = [];
  let scope = '';
  let sides: [PeriodPricer<RateCard>, PeriodPricer<RateCard>] | null = null;
  for (const { workspaceId, tenantId, period, ...used } of usage) {
    const ownScope = JSON.stringify([workspaceId, period]);
    if (sides === null || ownScope !== scope) {
      sides = [now(workspaceId, period), others(workspaceId, period)];
      scope = ownScope;
    }
    for (const [side, pricer] of sides.entries()) {
      const priced = pricer.price(tenantId, used, true);
      if (priced === null || priced.charge === null) {
        const why = side === 1 ? pricer.whyUnpriced(tenantId, used) : null;
        if (why !== null) unpriced.push({ workspaceId, tenantId, period, why });
        continue;
      }
      const { currency } = priced.card;
      const empty = { currency, nowMinor: 0n, otherMinor: 0n };
      const month = held(months, `${period} ${currency}`, { ...empty, period });
      const tenant = held(tenants, JSON.stringify([workspaceId, tenantId, currency]), {
        ...empty,
        workspaceId,
        tenantId,
      });
      const key = side === 0 ? 'nowMinor' : 'otherMinor';
      month[key] += priced.charge.amountMinor;
      tenant[key] += priced.charge.amountMinor;
    }
  }
  const size = ({ nowMinor, otherMinor }: Comparison): bigint =>
    otherMinor > nowMinor ? otherMinor - nowMinor : nowMinor - otherMinor;
  return {
    months: [...months.values()].sort((a, b) => (a.period < b.period ? -1 : a.period > b.period ? 1 : 0)),
    tenants: [...tenants.values()].sort((a, b) => (size(b) > size(a) ? 1 : size(b) < size(a) ? -1 : 0)),
    unpriced,
  };
}

function held<Value>(map: Map<string, Value>, key: string, fresh: Value): Value {
  const value = map.get(key) ?? fresh;
  map.set(key, value);
  return value;
}
