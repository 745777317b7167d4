import type { RateCard } from '../../../billing/rates/rate-card.ts';
import { isCurrency, minorDigits, type Rounding } from '../../../core/money.ts';

/**
 * Computes the amount due by a card a second time, so that `verify` can compare it with the ledger. This code computes
 * in exact fractions, was written from docs/prices.md, and shares no code with the charging.
 */

/** A charge line as a tuple: kind, tier, credits, unit_credits, unit_price, amount_minor, requests. */
export type DueLine = readonly [
  string,
  number | null,
  bigint | null,
  bigint | null,
  string | null,
  bigint,
  bigint | null,
];

type ExactFraction = readonly [over: bigint, under: bigint];

/** Returns the lines of the amount due; null when a line or the sum exceeds 64 bits, or the currency is unknown. */
export function dueLines(card: RateCard, credits: bigint, requests = 0n): DueLine[] | null {
  if (!isCurrency(card.currency)) return null;
  const lines = usageLines(card, credits);
  const calls = card.pricePerRequest;
  if (calls !== null) {
    const amount = inMinor(card, calls, requests < 0n ? 0n : requests);
    lines.push(['requests', null, null, null, calls, amount, requests]);
  }
  const usage = sumDueLines(lines);
  const discount = times(fraction(card.discountPercent ?? '0'), usage < 0n ? -usage : usage);
  const off = rounded([discount[0], discount[1] * 100n], card.rounding);
  if (off > 0n) lines.push(['discount', null, null, null, null, usage < 0n ? off : -off, null]);
  const minimum = inMinor(card, card.minimum ?? '0', 1n);
  const isIdle = credits <= 0n && (calls === null || requests <= 0n);
  const isFree = (isIdle && card.minimumNeedsUsage) || (credits < 0n && card.creditNegative);
  if (!isFree && minimum > sumDueLines(lines))
    lines.push(['minimum', null, null, null, null, minimum - sumDueLines(lines), null]);
  const amounts = [...lines.map((line) => line[5]), sumDueLines(lines)];
  return amounts.every((amount) => BigInt.asIntN(64, amount) === amount && amount !== -(2n ** 63n)) ? lines : null;
}

export function sumDueLines(lines: readonly DueLine[]): bigint {
  return lines.reduce((sum, line) => sum + line[5], 0n);
}

function usageLines(card: RateCard, credits: bigint): DueLine[] {
  if (credits < 0n && !card.creditNegative) return [['usage', 0, credits, 1n, '0', 0n, null]];
  if (credits < 0n) {
    const mirrored = usageLines({ ...card, includedCredits: 0 }, -credits);
    return mirrored.map(([kind, tier, used, units, price, amount]) => [
      kind,
      tier,
      -(used ?? 0n),
      units,
      price,
      -amount,
      null,
    ]);
  }
  const included = BigInt(card.includedCredits);
  const paid = credits > included ? credits - included : 0n;
  const free: DueLine[] = included === 0n ? [] : [['usage', 0, credits - paid, 1n, '0', 0n, null]];
  if (included > 0n && paid === 0n) return free;
  const { pricing } = card;
  if (pricing.model === 'package') {
    const size = BigInt(pricing.credits);
    const packages = paid / size + (paid % size > 0n ? 1n : 0n);
    return [...free, ['usage', 1, paid, size, pricing.price, inMinor(card, pricing.price, packages), null]];
  }
  const { model, tiers } = pricing;
  const reached = tiers.findIndex(({ upTo }) => upTo === null || paid <= BigInt(upTo));
  const priced = tiers.slice(0, reached + 1).map(({ upTo, pricePerCredit }, index): DueLine => {
    const from = model === 'volume' ? 0n : BigInt(tiers[index - 1]?.upTo ?? 0);
    const used = (index === reached ? paid : BigInt(upTo ?? 0)) - from;
    return ['usage', index + 1, used, 1n, pricePerCredit, inMinor(card, pricePerCredit, used), null];
  });
  return [...free, ...(model === 'volume' ? priced.slice(-1) : priced)];
}

/**
 * Returns the card that prices a tenant. `cards` are the cards for the tenant's workspace and period. Returns null when
 * no card matches, or when the two best matches rank equally.
 */
export function cardFor<Card extends RateCard>(cards: readonly Card[], tenantId: string): Card | null {
  const [best, next] = cards.filter((card) => fits(card, tenantId)).sort(byRank);
  return best === undefined || (next !== undefined && byRank(best, next) === 0) ? null : best;
}

function fits({ tenant }: RateCard, tenantId: string): boolean {
  if (tenant === null) return true;
  const parts = tenant.split('*').map((part) => part.replaceAll(/[\\^$.|?+()[\]{}]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^]*')}$`, 'u').test(tenantId);
}

function byRank(a: RateCard, b: RateCard): number {
  const rank = ({ tenant, priority, workspace, fromPeriod }: RateCard) => {
    const stars = (tenant ?? '*').replaceAll(/[^*]/g, '').length;
    const letters = tenant === null ? -1 : tenant.replaceAll('*', '').length;
    const isId = tenant !== null && stars === 0;
    return [isId ? 1 : 0, priority, letters, -stars, workspace === null ? 0 : 1, Number(fromPeriod.replace('-', ''))];
  };
  const [left, right] = [rank(a), rank(b)];
  const differences = left.map((value, at) => (right[at] ?? 0) - value);
  return differences.find((difference) => difference !== 0) ?? 0;
}

/** Returns the price of `units`, rounded once to the minor unit. */
function inMinor({ currency, rounding }: RateCard, price: string, units: bigint): bigint {
  return rounded(times(fraction(price), units * 10n ** BigInt(minorDigits(currency))), rounding);
}

function fraction(decimal: string): ExactFraction {
  const [whole = '', part = ''] = decimal.split('.');
  return [BigInt(whole + part), 10n ** BigInt(part.length)];
}

function times([over, under]: ExactFraction, factor: bigint): ExactFraction {
  return [over * factor, under];
}

/**
 * Rounds a non-negative fraction to the nearest integer. A half is rounded up or, with `half_even`, to the even
 * neighbour.
 */
function rounded([over, under]: ExactFraction, rounding: Rounding): bigint {
  const below = (2n * over + under) / (2n * under);
  const isHalf = (2n * over + under) % (2n * under) === 0n;
  return isHalf && rounding === 'half_even' && below % 2n === 1n ? below - 1n : below;
}
