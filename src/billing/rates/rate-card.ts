import { plainDecimal, type Rounding } from '../../core/money.ts';
import type { Period } from '../../core/period.ts';
import { coversPattern, patternsOverlap } from '../../core/text/patterns.ts';
import type { RateCardText } from './rate-card-schema.ts';

/** A price for credits up to a limit. The credits that the card includes for free do not count towards the limit. */
export interface RateTier {
  /** The limit: the last credit that belongs to the tier. Null for the last tier, which has no limit. */
  upTo: number | null;
  /** An exact decimal in the currency's major unit, such as euros. */
  pricePerCredit: string;
}

/**
 * The pricing models. `graduated`: the price of each tier applies to the credits in that tier. `volume`: the price of
 * the tier that the total reaches applies to all credits. `package`: credits are sold in packages, and a package of
 * which any credit is used is charged in full.
 */
export type Pricing =
  | { model: 'graduated' | 'volume'; tiers: readonly RateTier[] }
  | { model: 'package'; credits: number; price: string };

/**
 * The prices for credits and requests from one period on. Prices and amounts are exact decimals in the currency's major
 * unit, such as euros.
 */
export interface RateCard {
  name: string;
  fromPeriod: Period;
  /**
   * The last period that the card prices. Null means that the card has no end, but a later or more specific card may
   * replace it.
   */
  toPeriod: Period | null;
  /** The id of the workspace that the card is for. Null means every workspace. */
  workspace: string | null;
  /**
   * The tenant that the card is for: an id, or a pattern in which `*` stands for any characters. Null means every
   * tenant.
   */
  tenant: string | null;
  /**
   * If several cards match a tenant, the highest priority wins. A card for the tenant's id wins whatever the
   * priorities.
   */
  priority: number;
  currency: string;
  includedCredits: number;
  /** If true, credits below 0 are paid back at the card's prices. If false, credits below 0 cost nothing. */
  creditNegative: boolean;
  pricing: Pricing;
  /** The price of a request, an exact decimal. Null means that requests are free. */
  pricePerRequest: string | null;
  /** The minimum charge of a tenant with a record in the period. Null means no minimum. */
  minimum: string | null;
  /** If true, a tenant who used neither credits nor priced requests pays no minimum. */
  minimumNeedsUsage: boolean;
  /** The discount on usage in percent, from 0 to 100. Null means none. */
  discountPercent: string | null;
  rounding: Rounding;
}

/** Converts a validated card from the configuration, and fills in defaults for absent settings. */
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
 * Finds pairs of cards that could both match a tenant without one of them winning: their patterns overlap, neither
 * pattern covers the other, and their priorities are equal. Returns a sentence for each pair.
 */
export function conflictingCards(cards: readonly RateCardText[]): string[] {
  return cards.flatMap((card, index) =>
    cards.slice(index + 1).flatMap((other) => {
      if (!isConflict(card, other)) return [];
      return [`${quoteCard(card)} and ${quoteCard(other)} overlap, and neither is more specific`];
    }),
  );
}

function isConflict(a: RateCardText, b: RateCardText): boolean {
  if (a.tenant?.includes('*') !== true || b.tenant?.includes('*') !== true) return false;
  if ((a.priority ?? 0) !== (b.priority ?? 0)) return false;
  if (a.workspace !== undefined && b.workspace !== undefined && a.workspace !== b.workspace) return false;
  if (!isActiveAtStart(a, b) || !isActiveAtStart(b, a)) return false;
  if (coversPattern(a.tenant, b.tenant) || coversPattern(b.tenant, a.tenant)) return false;
  return patternsOverlap(a.tenant, b.tenant);
}

/** Reports whether the first card has not ended when the second card starts. */
function isActiveAtStart({ to_period }: RateCardText, { from_period }: RateCardText): boolean {
  return to_period === undefined || to_period >= from_period;
}

function quoteCard({ name, tenant }: RateCardText): string {
  return `card ${JSON.stringify(name)} (${tenant})`;
}

/** An exact, non-negative decimal: `digits / scale`, where `scale` is a power of ten. */
interface ExactDecimal {
  digits: bigint;
  scale: bigint;
}

/** Parses a plain decimal such as `0.0125`. The rate card schema has validated its form. */
export function parseDecimal(text: string): ExactDecimal {
  const [whole = '', part = ''] = text.split('.');
  return { digits: BigInt(whole + part), scale: 10n ** BigInt(part.length) };
}

/**
 * Divides `over` by `under` and rounds the result to a whole number. `over` must not be negative, and `under` must be
 * positive.
 */
export function divideRounded(over: bigint, under: bigint, rounding: Rounding): bigint {
  const whole = over / under;
  const twice = (over - whole * under) * 2n;
  if (twice < under) return whole;
  if (twice > under || rounding === 'half_up') return whole + 1n;
  return whole + (whole & 1n);
}

/** Multiplies a decimal by a whole number, exactly and without trailing zeros: 0.0125 x 1000 is `12.5`. */
export function multiplyDecimal(decimal: string, factor: bigint): string {
  const { digits, scale } = parseDecimal(decimal);
  return exactDecimalText(digits * factor, scale);
}

/** Subtracts a percentage from a decimal, exactly and without trailing zeros: 0.0125 minus 10% is `0.01125`. */
export function subtractPercent(decimal: string, percent: string): string {
  const [price, off] = [parseDecimal(decimal), parseDecimal(percent)];
  return exactDecimalText(price.digits * (100n * off.scale - off.digits), price.scale * off.scale * 100n);
}

/** Formats `digits / scale` without trailing zeros. `scale` must be a power of ten. */
function exactDecimalText(digits: bigint, scale: bigint): string {
  const plain = plainDecimal(digits, scale.toString().length - 1);
  return plain.includes('.') ? plain.replace(/\.?0+$/, '') : plain;
}
