import { minorDigits } from '../../core/money.ts';
import { divideRounded, type Pricing, parseDecimal, type RateCard } from './rate-card.ts';

/**
 * The kinds of lines that pricing by a rate card produces. Lines of the kind `correction` are not among them: they come
 * from corrections of closed periods.
 */
export type ChargeLineKind = 'usage' | 'requests' | 'minimum' | 'discount';

/** One line of a charge. Each line's amount is rounded by itself, and the charge is the sum of the rounded amounts. */
export interface ChargeLine {
  kind: ChargeLineKind;
  /**
   * The number of the tier, from 1; 0 for included credits. Both `tier` and `credits` are null on a line that does not
   * price credits.
   */
  tier: number | null;
  credits: bigint | null;
  /**
   * The number of credits that `unitPrice` buys: 1, or the size of a package. Null on a line that does not price
   * credits.
   */
  unitCredits: bigint | null;
  /**
   * The price of a unit: an exact decimal in the currency's major unit, such as euros. Null for a discount or a
   * minimum.
   */
  unitPrice: string | null;
  /** The number of priced requests. Null on every line whose kind is not `requests`. */
  requests: bigint | null;
  amountMinor: bigint;
}

export interface Charge {
  lines: readonly ChargeLine[];
  amountMinor: bigint;
}

/**
 * Prices a tenant's credits and requests in one period. The charge has a usage line for each tier and, if requests have
 * a price, a line for them. The discount on their sum is subtracted; if the result is below the minimum, a line makes
 * up the difference. Credits below 0 are free or, if the card says so, paid back without a minimum. A charge has at
 * least one line.
 */
export type Pricer = (credits: bigint, requests?: bigint) => Charge;

/**
 * The charge of a tenant without a record in the period, for example because the record was withdrawn. No minimum
 * applies.
 */
export const NO_CHARGE: Charge = {
  lines: [{ kind: 'usage', tier: 1, credits: 0n, unitCredits: 1n, unitPrice: '0', requests: null, amountMinor: 0n }],
  amountMinor: 0n,
};

/** A line of free credits: credits that the card includes, or credits below 0 that are not paid back. */
const FREE = { kind: 'usage', tier: 0, unitCredits: 1n, unitPrice: '0', requests: null, amountMinor: 0n } as const;

const NO_USAGE_FIELDS = { tier: null, credits: null, unitCredits: null, unitPrice: null, requests: null };

/** Prices the credits of one tier. The tier's price is parsed once for each card, not for each tenant. */
type UnitPricer = (tier: number, credits: bigint) => ChargeLine;

/** A card's single price for every credit. `digits / scale` is the price in minor units of the currency. */
export interface FlatPrice {
  digits: bigint;
  scale: bigint;
  pricePerCredit: string;
}

/**
 * Returns the card's price per credit if every charge for 0 or more credits is just this price times the credits.
 * Returns null for any other card, such as one with tiers or a minimum.
 */
export function flatPriceOf({ pricing, ...card }: RateCard): FlatPrice | null {
  if (pricing.model === 'package' || pricing.tiers.length > 1 || card.includedCredits > 0) return null;
  if (card.pricePerRequest !== null || !isZero(card.discountPercent) || !isZero(card.minimum)) return null;
  const pricePerCredit = pricing.tiers[0]?.pricePerCredit ?? '0';
  const { digits, scale } = parseDecimal(pricePerCredit);
  return { digits: digits * minorPerMajor(card.currency), scale, pricePerCredit };
}

function isZero(decimal: string | null): boolean {
  return decimal === null || parseDecimal(decimal).digits === 0n;
}

function minorPerMajor(currency: string): bigint {
  return 10n ** BigInt(minorDigits(currency));
}

/**
 * Returns a function that charges tenants by a rate card. The card's prices are parsed only once, because a period may
 * have a million tenants.
 */
export function createPricer(card: RateCard): Pricer {
  const { rounding } = card;
  const minorUnits = minorPerMajor(card.currency);
  const price = (unitPrice: string, unitCredits: bigint): UnitPricer => {
    const { digits, scale } = parseDecimal(unitPrice);
    const minorDigitsOfUnit = digits * minorUnits;
    return (tier, credits) => {
      const units = (credits + unitCredits - 1n) / unitCredits;
      const amountMinor = divideRounded(units * minorDigitsOfUnit, scale, rounding);
      return { kind: 'usage', tier, credits, unitCredits, unitPrice, requests: null, amountMinor };
    };
  };
  const included = BigInt(card.includedCredits);
  const addUsage = usagePricer(card.pricing, price);
  const discount = card.discountPercent === null ? null : parseDecimal(card.discountPercent);
  const minimumDecimal = parseDecimal(card.minimum ?? '0');
  const minimum = divideRounded(minimumDecimal.digits * minorUnits, minimumDecimal.scale, rounding);

  const perRequest = card.pricePerRequest === null ? null : parseDecimal(card.pricePerRequest);
  const requestLine = (requests: bigint, { digits, scale }: NonNullable<typeof perRequest>): ChargeLine => {
    const paid = requests > 0n ? requests : 0n;
    const amountMinor = divideRounded(paid * digits * minorUnits, scale, rounding);
    return { ...NO_USAGE_FIELDS, kind: 'requests', unitPrice: card.pricePerRequest, requests, amountMinor };
  };

  return (credits, requests = 0n) => {
    const isPaidBack = credits < 0n && card.creditNegative;
    const lines: ChargeLine[] = [];
    if (isPaidBack) {
      addUsage(lines, -credits);
      for (const line of lines) negate(line);
    } else if (credits < 0n) lines.push({ ...FREE, credits });
    else {
      const free = credits < included ? credits : included;
      if (included > 0n) lines.push({ ...FREE, credits: free });
      if (included === 0n || credits > free) addUsage(lines, credits - free);
    }
    if (perRequest !== null) lines.push(requestLine(requests, perRequest));
    let amountMinor = lines.reduce((sum, line) => sum + line.amountMinor, 0n);
    const size = amountMinor < 0n ? -amountMinor : amountMinor;
    const share = discount === null ? 0n : divideRounded(size * discount.digits, discount.scale * 100n, rounding);
    if (share > 0n) {
      const off = amountMinor < 0n ? share : -share;
      lines.push({ ...NO_USAGE_FIELDS, kind: 'discount', amountMinor: off });
      amountMinor += off;
    }
    const isUsed = credits > 0n || (perRequest !== null && requests > 0n);
    const needsMinimum = !isPaidBack && (isUsed || !card.minimumNeedsUsage);
    if (needsMinimum && minimum > amountMinor) {
      lines.push({ ...NO_USAGE_FIELDS, kind: 'minimum', amountMinor: minimum - amountMinor });
      amountMinor = minimum;
    }
    return { lines, amountMinor };
  };
}

/** Changes a charged line into one that is paid back: negates its credits and its amount. */
function negate(line: ChargeLine): void {
  line.credits = line.credits === null ? null : -line.credits;
  line.amountMinor = -line.amountMinor;
}

function usagePricer(
  pricing: Pricing,
  price: (unitPrice: string, unitCredits: bigint) => UnitPricer,
): (lines: ChargeLine[], credits: bigint) => void {
  if (pricing.model === 'package') {
    const pricePackage = price(pricing.price, BigInt(pricing.credits));
    return (lines, credits) => {
      lines.push(pricePackage(1, credits));
    };
  }
  const tiers = pricing.tiers.map(({ upTo, pricePerCredit }) => ({
    upTo: upTo === null ? null : BigInt(upTo),
    priceTier: price(pricePerCredit, 1n),
  }));
  const graduated = pricing.model === 'graduated';
  return (lines, credits) => {
    let below = 0n;
    let tier = 0;
    for (const { upTo, priceTier } of tiers) {
      tier += 1;
      const isLast = upTo === null || credits <= upTo;
      const end = isLast ? credits : upTo;
      if (graduated) lines.push(priceTier(tier, end - below));
      else if (isLast) lines.push(priceTier(tier, credits));
      if (isLast) return;
      below = end;
    }
  };
}
