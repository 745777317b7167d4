import { minorDigits } from '../../core/money.ts';
import { divideRounded, type Pricing, parseDecimal, type RateCard } from './rate-card.ts';

/** The kinds of lines that a rate card produces. `correction` lines come from the corrections of closed periods. */
export type ChargeLineKind = 'usage' | 'requests' | 'minimum' | 'discount';

/** One line of a charge. Its amount is rounded once, and the lines sum to the charge. */
export interface ChargeLine {
  kind: ChargeLineKind;
  /** The tier, from 1; 0 for included credits. Null, as are the credits, on a line that does not price credits. */
  tier: number | null;
  credits: bigint | null;
  /** The credits that `unitPrice` buys: 1, or the size of a package. */
  unitCredits: bigint | null;
  /** An exact decimal in the currency's major unit. Null for a discount or a minimum. */
  unitPrice: string | null;
  /** The priced requests. Null on every line except the `requests` line. */
  requests: bigint | null;
  amountMinor: bigint;
}

export interface Charge {
  lines: readonly ChargeLine[];
  amountMinor: bigint;
}

/**
 * Prices a tenant's credits and requests in one period: one usage line per tier and a line for priced requests, minus
 * the discount on their sum, raised to the minimum. Credits below 0 are free or, if the card says so, paid back without
 * a minimum. A charge has at least one line.
 */
export type Pricer = (credits: bigint, requests?: bigint) => Charge;

/** The charge of a tenant without a record in the period, such as a withdrawn one. No minimum applies. */
export const NO_CHARGE: Charge = {
  lines: [{ kind: 'usage', tier: 1, credits: 0n, unitCredits: 1n, unitPrice: '0', requests: null, amountMinor: 0n }],
  amountMinor: 0n,
};

/** A line of free credits: included ones, or credits below 0 that are not paid back. */
const FREE = { kind: 'usage', tier: 0, unitCredits: 1n, unitPrice: '0', requests: null, amountMinor: 0n } as const;

const NO_USAGE_FIELDS = { tier: null, credits: null, unitCredits: null, unitPrice: null, requests: null };

/** Prices credits of one tier. Its decimal is parsed once per card instead of once per tenant. */
type UnitPricer = (tier: number, credits: bigint) => ChargeLine;

/** One price for every credit: `digits / scale` minor units of the currency. */
export interface FlatPrice {
  digits: bigint;
  scale: bigint;
  pricePerCredit: string;
}

/**
 * Returns the card's price per credit if that price is the whole charge for credits of 0 or more. Returns null for any
 * other card.
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

/** Prepares a card's prices once for any number of tenants; a period may have a million. Each line is rounded once. */
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

/** Turns a charged line into one that is paid back. */
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
