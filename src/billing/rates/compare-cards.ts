import type { Period } from '../../core/period.ts';
import type { PeriodPricer, PricedUsage } from './period-pricer.ts';
import type { RateCard } from './rate-card.ts';

export interface RecordedUsage extends PricedUsage {
  workspaceId: string;
  tenantId: string;
  period: Period;
}

/** The price of the same usage by the current and by the other rate cards, in minor units of one currency. */
export interface CardComparison {
  currency: string;
  nowMinor: bigint;
  otherMinor: bigint;
}

export interface CardsComparison {
  months: (CardComparison & { period: Period })[];
  /** The tenants, sorted by the size of the difference, largest first. */
  tenants: (CardComparison & { workspaceId: string; tenantId: string })[];
  /** The tenants without a price by the other cards although at least one card matches, each with the reason. */
  unpriced: { workspaceId: string; tenantId: string; period: Period; why: string }[];
}

export type PricerFor = (workspaceId: string, period: Period) => PeriodPricer<RateCard>;

/**
 * Prices recorded usage by the current and by the other rate cards, and sums the prices by month and by tenant. The
 * rows of one workspace and period should follow each other, because the cards are prepared again for each change.
 */
export function compareCards(usage: Iterable<RecordedUsage>, now: PricerFor, others: PricerFor): CardsComparison {
  const months = new Map<string, CardComparison & { period: Period }>();
  const tenants = new Map<string, CardComparison & { workspaceId: string; tenantId: string }>();
  const unpriced: CardsComparison['unpriced'] = [];
  let scope = '';
  let sides: [PeriodPricer<RateCard>, PeriodPricer<RateCard>] | null = null;
  for (const { workspaceId, tenantId, period, ...used } of usage) {
    const usageScope = JSON.stringify([workspaceId, period]);
    if (sides === null || usageScope !== scope) {
      sides = [now(workspaceId, period), others(workspaceId, period)];
      scope = usageScope;
    }
    for (const [side, pricer] of sides.entries()) {
      const priced = pricer.price(tenantId, used, true);
      if (priced === null || priced.charge === null) {
        const why = side === 1 ? pricer.explainUnpriced(tenantId, used) : null;
        if (why !== null) unpriced.push({ workspaceId, tenantId, period, why });
        continue;
      }
      const { currency } = priced.card;
      const empty = { currency, nowMinor: 0n, otherMinor: 0n };
      const month = getOrSet(months, `${period} ${currency}`, { ...empty, period });
      const tenant = getOrSet(tenants, JSON.stringify([workspaceId, tenantId, currency]), {
        ...empty,
        workspaceId,
        tenantId,
      });
      const key = side === 0 ? 'nowMinor' : 'otherMinor';
      month[key] += priced.charge.amountMinor;
      tenant[key] += priced.charge.amountMinor;
    }
  }
  const size = ({ nowMinor, otherMinor }: CardComparison): bigint =>
    otherMinor > nowMinor ? otherMinor - nowMinor : nowMinor - otherMinor;
  return {
    months: [...months.values()].sort((a, b) => (a.period < b.period ? -1 : a.period > b.period ? 1 : 0)),
    tenants: [...tenants.values()].sort((a, b) => (size(b) > size(a) ? 1 : size(b) < size(a) ? -1 : 0)),
    unpriced,
  };
}

function getOrSet<Value>(map: Map<string, Value>, key: string, fresh: Value): Value {
  const value = map.get(key) ?? fresh;
  map.set(key, value);
  return value;
}
