import { minorDigits } from '../../core/money.ts';
import { divideRounded, type Pricing, parseDecimal, type RateCard } from './rate-card.ts';

/** What a line of a charge is for. `correction` lines are not made here: see the corrections of closed periods. */
export type ChargeLineKind = 'usage' | 'requests' | 'minimum' | 'discount';

/** One line of a charge. Its amount was rounded once; all lines sum to the charge. */
export interface ChargeLine {
  kind: ChargeLineKind;
  /** From 1; 0 for the included credits; null, like the credits, when it is no usage of credits. */
  tier: number | null;
  credits: bigint | null;
  /** How many credits `unitPrice` buys: 1, or those of a package. */
  unitCredits: bigint | null;
  /** Exact decimal of the currency's major unit; null for a discount and a minimum. */
  unitPrice: string | null;
  /** Null but of the line that prices them. */
  requests: bigint | null;
  amountMinor: bigint;
}

export interface Charge {
  lines: readonly ChargeLine[];
  amountMinor: bigint;
}

/**
 * Prices a tenant's credits and requests in one period: a usage line a tier, one of the requests where they have a price, less
 * the discount on their sum, topped up to the minimum. Credits below 0 cost nothing, or are paid back without a minimum. There is always at least one line.
 */
export type Pricer = (credits: bigint, requests?: bigint) => Charge;

/** What a tenant costs without a record in the period, such as a withdrawn one: no minimum either. */
export const NO_CHARGE: Charge = {
  lines: [{ kind: 'usage', tier: 1, credits: 0n, unitCredits: 1n, unitPrice: '0', requests: null, amountMinor: 0n }],
  amountMinor: 0n,
};

/** Credits that cost nothing: included ones, and those below 0 that are not paid back. */
const FREE = { kind: 'usage', tier: 0, unitCredits: 1n, unitPrice: '0', requests: null, amountMinor: 0n } as const;

const NO_USAGE = { tier: null, credits: null, unitCredits: null, unitPrice: null, requests: null };

/** A price of some units, in minor units of the currency as a fraction: its decimals are read once a card, not a tenant. */
type UnitPricer = (tier: number, credits: bigint) => ChargeLine;

/** One price for every credit, in minor units of the currency as the fraction `digits / scale`. */
export interface FlatPrice {
  digits: bigint;
  scale: bigint;
  pricePerCredit: string;
}

/** What a card charges credits that are not negative, when it is one price for each and nothing else; null for any other card. */
export function flatPriceOf({ pricing, ...card }: RateCard): FlatPrice | null {
  if (pricing.model === 'package' || pricing.tiers.length > 1 || card.includedCredits > 0) return null;
  if (card.pricePerRequest !== null || !isNothing(card.discountPercent) || !isNothing(card.minimum)) return null;
  const pricePerCredit = pricing.tiers[0]?.pricePerCredit ?? '0';
  const { digits, scale } = parseDecimal(pricePerCredit);
  return { digits: digits * minorPerMajor(card.currency), scale, pricePerCredit };
}

function isNothing(decimal: string | null): boolean {
  return decimal === null || parseDecimal(decimal).digits === 0n;
}

function minorPerMajor(currency: string): bigint {
  return 10n ** BigInt(minorDigits(currency));
}

/** The prices of a card, ready for any number of tenants: a period may have a million. Each line is rounded once. */
export function pricerOf(card: RateCard): Pricer {
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
  const given = parseDecimal(card.minimum ?? '0');
  const minimum = divideRounded(given.digits * minorUnits, given.scale, rounding);

  const perRequest = card.pricePerRequest === null ? null : parseDecimal(card.pricePerRequest);
  const requestLine = (requests: bigint, { digits, scale }: NonNullable<typeof perRequest>): ChargeLine => {
    const paid = requests > 0n ? requests : 0n;
    const amountMinor = divideRounded(paid * digits * minorUnits, scale, rounding);
    return { ...NO_USAGE, kind: 'requests', unitPrice: card.pricePerRequest, requests, amountMinor };
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
      lines.push({ ...NO_USAGE, kind: 'discount', amountMinor: off });
      amountMinor += off;
    }
    const isUsed = credits > 0n || (perRequest !== null && requests > 0n);
    const owesMinimum = !isPaidBack && (isUsed || !card.minimumNeedsUsage);
    if (owesMinimum && minimum > amountMinor) {
      lines.push({ ...NO_USAGE, kind: 'minimum', amountMinor: minimum - amountMinor });
      amountMinor = minimum;
    }
    return { lines, amountMinor };
  };
}

/** The same the other way round: paid back. */
function negate(line: ChargeLine): void {
  line.credits = line.credits === null ? null : -line.credits;
  line.amountMinor = -line.amountMinor;
}

function usagePricer(
  pricing: Pricing,
  price: (unitPrice: string, unitCredits: bigint) => UnitPricer,
): (lines: ChargeLine[], credits: bigint) => void {
  if (pricing.model === 'package') {
    const ofPackage = price(pricing.price, BigInt(pricing.credits));
    return (lines, credits) => {
      lines.push(ofPackage(1, credits));
    };
  }
  const tiers = pricing.tiers.map(({ upTo, pricePerCredit }) => ({
    upTo: upTo === null ? null : BigInt(upTo),
    ofTier: price(pricePerCredit, 1n),
  }));
  const graduated = pricing.model === 'graduated';
  return (lines, credits) => {
    let below = 0n;
    let tier = 0;
    for (const { upTo, ofTier } of tiers) {
      tier += 1;
      const isLast = upTo === null || credits <= upTo;
      const end = isLast ? credits : upTo;
      if (graduated) lines.push(ofTier(tier, end - below));
      else if (isLast) lines.push(ofTier(tier, credits));
      if (isLast) return;
      below = end;
    }
  };
}
