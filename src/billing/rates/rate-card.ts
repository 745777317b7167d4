import type { Rounding } from '../../core/money.ts';
import type { Period } from '../../core/period.ts';
import type { RateCardText } from './rate-card-schema.ts';

/** A price for the credits up to a limit, counted from the first one that is not included. */
export interface RateTier {
  /** Null: without limit; the last tier only. */
  upTo: number | null;
  /** An exact decimal of the currency's major unit. */
  pricePerCredit: string;
}

/**
 * `graduated`: each tier's price for the credits in it. `volume`: the price of the tier that the whole reaches, for the
 * whole. `package`: a price for each package that is begun.
 */
export type Pricing =
  | { model: 'graduated' | 'volume'; tiers: readonly RateTier[] }
  | { model: 'package'; credits: number; price: string };

/** What credits cost from one period on. Money is in exact decimals of the currency's major unit. */
export interface RateCard {
  name: string;
  fromPeriod: Period;
  /** The last period it prices; null: until another card is more specific or later. */
  toPeriod: Period | null;
  /** Null: every workspace. */
  workspace: string | null;
  /** A tenant's id, or a pattern in which `*` stands for anything; null: every tenant. */
  tenant: string | null;
  /** Of patterns that fit, and cards for all, the one with the highest counts. */
  priority: number;
  currency: string;
  includedCredits: number;
  /** True: credits below 0 are paid back at these prices; else they are priced as 0. */
  creditNegative: boolean;
  pricing: Pricing;
  /** What a tenant with a record in the period pays at least; null: nothing. */
  minimum: string | null;
  /** True: who has used no credits pays no minimum. */
  minimumNeedsUsage: boolean;
  /** Off the usage, from 0 to 100; null: none. */
  discountPercent: string | null;
  rounding: Rounding;
}

/** A card that has passed the schema, with the defaults filled in. */
export function resolveRateCard(card: RateCardText): RateCard {
  return {
    name: card.name,
    fromPeriod: card.from_period,
    toPeriod: card.to_period ?? null,
    workspace: card.workspace ?? null,
    tenant: card.tenant ?? null,
    priority: card.priority ?? 0,
    currency: card.currency,
    includedCredits: card.included_credits ?? 0,
    creditNegative: card.credit_negative ?? false,
    pricing: pricingOf(card),
    minimum: card.minimum ?? null,
    minimumNeedsUsage: card.minimum_needs_usage ?? false,
    discountPercent: card.discount_percent ?? null,
    rounding: card.rounding ?? 'half_even',
  };
}

function pricingOf(card: RateCardText): Pricing {
  if (card.package !== undefined) return { model: 'package', ...card.package };
  const written = card.graduated ?? card.volume ?? [{ price_per_credit: card.price_per_credit ?? '0' }];
  return {
    model: card.volume === undefined ? 'graduated' : 'volume',
    tiers: written.map((tier) => ({
      upTo: ('up_to' in tier ? tier.up_to : undefined) ?? null,
      pricePerCredit: tier.price_per_credit,
    })),
  };
}
