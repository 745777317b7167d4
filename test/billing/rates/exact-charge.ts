import Big from 'big.js';
import type { RateCard } from '../../../src/billing/rates/rate-card.ts';

/** Minor-unit decimals of the currencies in the tests. */
const DIGITS: Readonly<Record<string, number>> = { EUR: 2, JPY: 0, KWD: 3, CLF: 4 };

export interface ExactLine {
  kind: string;
  tier: number | null;
  amount: bigint;
}

/**
 * Computes a card's charge from its description with a library of exact decimals; the program computes with integers.
 * Returns the lines in order: included credits, one per tier, requests, discount, top-up to the minimum.
 */
export function exactLines(card: RateCard, credits: bigint, requests = 0n): ExactLine[] {
  if (card.pricePerRequest !== null) return withRequests(card, credits, requests);
  if (credits < 0n && card.creditNegative) {
    const turned = exactLines({ ...card, includedCredits: 0, minimum: null }, -credits);
    return turned.map((line) => ({ ...line, amount: -line.amount }));
  }
  const needsNone = card.minimumNeedsUsage && credits <= 0n;
  if (credits < 0n) return toppedUp(card, [{ kind: 'usage', tier: 0, amount: 0n }], needsNone);
  const lines: ExactLine[] = [];
  const rest = new Big(credits.toString()).minus(card.includedCredits);
  if (card.includedCredits > 0) lines.push({ kind: 'usage', tier: 0, amount: 0n });
  if (rest.gt(0) || card.includedCredits === 0) {
    for (const [tier, cost] of usageCosts(card, rest)) {
      lines.push({ kind: 'usage', tier, amount: inMinor(card, cost) });
    }
  }
  const sum = lines.reduce((total, line) => total + line.amount, 0n);
  if (card.discountPercent !== null) {
    const off = round(card, new Big(sum.toString()).times(card.discountPercent).times('0.01'));
    if (off > 0n) lines.push({ kind: 'discount', tier: null, amount: -off });
  }
  return toppedUp(card, lines, needsNone);
}

/** Requests count as usage: the discount applies to them, and they trigger the minimum. */
function withRequests(card: RateCard, credits: bigint, requests: bigint): ExactLine[] {
  const ofCredits = exactLines({ ...card, pricePerRequest: null, minimum: null, discountPercent: null }, credits);
  const cost = new Big(requests.toString()).times(card.pricePerRequest ?? 0);
  const lines = [...ofCredits, { kind: 'requests', tier: null, amount: inMinor(card, cost) }];
  const sum = lines.reduce((total, line) => total + line.amount, 0n);
  const size = new Big(sum.toString()).abs();
  const off = round(card, size.times(card.discountPercent ?? 0).times('0.01'));
  if (off > 0n) lines.push({ kind: 'discount', tier: null, amount: sum < 0n ? off : -off });
  if (credits < 0n && card.creditNegative) return lines;
  return toppedUp(card, lines, card.minimumNeedsUsage && credits <= 0n && requests === 0n);
}

function toppedUp(card: RateCard, lines: ExactLine[], needsNone: boolean): ExactLine[] {
  const sum = lines.reduce((total, line) => total + line.amount, 0n);
  const minimum = card.minimum === null || needsNone ? 0n : inMinor(card, new Big(card.minimum));
  return minimum > sum ? [...lines, { kind: 'minimum', tier: null, amount: minimum - sum }] : lines;
}

function usageCosts({ pricing }: RateCard, credits: Big): [number, Big][] {
  if (pricing.model === 'package') {
    const begun = credits.mod(pricing.credits).gt(0) ? 1n : 0n;
    const packages = BigInt(credits.toFixed(0)) / BigInt(pricing.credits) + begun;
    return [[1, new Big(packages.toString()).times(pricing.price)]];
  }
  const reached = pricing.tiers.findIndex(({ upTo }) => upTo === null || credits.lte(upTo));
  return pricing.tiers.flatMap(({ upTo, pricePerCredit }, index): [number, Big][] => {
    if (pricing.model === 'volume') return index === reached ? [[index + 1, credits.times(pricePerCredit)]] : [];
    if (index > reached) return [];
    const from = pricing.tiers[index - 1]?.upTo ?? 0;
    const to = index === reached || upTo === null ? credits : new Big(upTo);
    return [[index + 1, to.minus(from).times(pricePerCredit)]];
  });
}

function inMinor(card: RateCard, amount: Big): bigint {
  const digits = DIGITS[card.currency];
  if (digits === undefined) throw new Error(`the tests do not know ${card.currency}`);
  return round(card, amount.times(new Big(10).pow(digits)));
}

function round({ rounding }: RateCard, amount: Big): bigint {
  return BigInt(amount.round(0, rounding === 'half_up' ? Big.roundHalfUp : Big.roundHalfEven).toFixed(0));
}
