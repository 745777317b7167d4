import { plainDecimal, type Rounding } from '../../core/money.ts';
import type { Period } from '../../core/period.ts';
import { coversPattern, patternsOverlap } from '../../core/text/patterns.ts';
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
  /** An exact decimal, beside the price of the credits; null: requests cost nothing. */
  pricePerRequest: string | null;
  /** What a tenant with a record in the period pays at least; null: nothing. */
  minimum: string | null;
  /** True: who has used no credits, and no requests that have a price, pays no minimum. */
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
    pricePerRequest: card.price_per_request ?? null,
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

/**
 * Pairs of cards of which nobody can say which one counts, whoever the tenants are: patterns that overlap, of which neither
 * includes the other, with the same priority. A sentence each.
 */
export function unclearCards(cards: readonly RateCardText[]): string[] {
  return cards.flatMap((card, index) =>
    cards.slice(index + 1).flatMap((other) => {
      if (!areUnclear(card, other)) return [];
      return [`${nameOf(card)} and ${nameOf(other)} overlap, and neither is the more specific`];
    }),
  );
}

function areUnclear(a: RateCardText, b: RateCardText): boolean {
  if (a.tenant?.includes('*') !== true || b.tenant?.includes('*') !== true) return false;
  if ((a.priority ?? 0) !== (b.priority ?? 0)) return false;
  if (a.workspace !== undefined && b.workspace !== undefined && a.workspace !== b.workspace) return false;
  if (!reaches(a, b) || !reaches(b, a)) return false;
  if (coversPattern(a.tenant, b.tenant) || coversPattern(b.tenant, a.tenant)) return false;
  return patternsOverlap(a.tenant, b.tenant);
}

/** Whether a card still prices when another one begins. */
function reaches({ to_period }: RateCardText, { from_period }: RateCardText): boolean {
  return to_period === undefined || to_period >= from_period;
}

function nameOf({ name, tenant }: RateCardText): string {
  return `card ${JSON.stringify(name)} (${tenant})`;
}

/** An exact decimal: `digits / 10^scale`. Never negative. */
interface Decimal {
  digits: bigint;
  scale: bigint;
}

/** Reads a plain decimal such as `0.0125`, as the rate cards' schema lets it through. */
export function parseDecimal(text: string): Decimal {
  const [whole = '', part = ''] = text.split('.');
  return { digits: BigInt(whole + part), scale: 10n ** BigInt(part.length) };
}

/** The whole number nearest to `over / under`, neither of which is negative. */
export function divideRounded(over: bigint, under: bigint, rounding: Rounding): bigint {
  const whole = over / under;
  const twice = (over - whole * under) * 2n;
  if (twice < under) return whole;
  if (twice > under || rounding === 'half_up') return whole + 1n;
  return whole + (whole & 1n);
}

/** `decimal` times a whole number, exact and without superfluous zeros: 0.0125 x 1000 is `12.5`. */
export function timesWhole(decimal: string, factor: bigint): string {
  const { digits, scale } = parseDecimal(decimal);
  return decimalText(digits * factor, scale);
}

/** `decimal` less some percent of it, exact and without superfluous zeros: 0.0125 less 10 % is `0.01125`. */
export function lessPercent(decimal: string, percent: string): string {
  const [price, off] = [parseDecimal(decimal), parseDecimal(percent)];
  return decimalText(price.digits * (100n * off.scale - off.digits), price.scale * off.scale * 100n);
}

/** `digits / scale` as text; the scale is a power of ten. */
function decimalText(digits: bigint, scale: bigint): string {
  const plain = plainDecimal(digits, scale.toString().length - 1);
  return plain.includes('.') ? plain.replace(/\.?0+$/, '') : plain;
}
