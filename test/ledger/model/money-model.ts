import { resolveRateCard } from '../../../src/billing/rates/rate-card.ts';
import type { RateCardText } from '../../../src/billing/rates/rate-card-schema.ts';
import type { StagedRecord } from '../../../src/ledger/journal/staging/staged-record.ts';
import { exactLines } from '../../billing/rates/exact-charge.ts';

/**
 * What each tenant owes, said again in plain Maps and decimals: the service's figures, the cards in force, the cards of each
 * close, and the lines by hand in force. It knows nothing of charges, corrections and documents.
 */

export const PERIODS = ['2026-01', '2026-02', '2026-03'] as const;
export const TENANTS = ['acme', 'apple', 'globex'] as const;
/** Always there, so that no listing is empty; before the first month of any card. */
const GHOST: StagedRecord = { tenantId: 'ghost', period: '2025-12', credits: 0, requests: 1 };
const LARGEST = 2n ** 63n - 1n;

export function keyOf(tenant: string, period: string): string {
  return `${period} ${tenant}`;
}

/** A line by hand as somebody adds it. */
export interface HandLine {
  tenant: number;
  period: number;
  amountMinor: bigint;
  currency: string;
}

export class MoneyModel {
  cards: readonly RateCardText[] = [];
  costCards: readonly RateCardText[] = [];
  /** The cards of each close in force. */
  readonly closed = new Map<string, readonly RateCardText[]>();
  readonly #now = new Map<string, { credits: bigint; requests: number }>();
  readonly #ever = new Set<string>();
  /** Those in force, by their number. */
  readonly lines = new Map<number, HandLine>();

  /** Without credits there is no record any more. */
  set(tenant: number, period: number, credits: bigint | null, requests: number): void {
    const key = keyOf(TENANTS[tenant] ?? '', PERIODS[period] ?? '');
    if (credits === null) this.#now.delete(key);
    else this.#now.set(key, { credits, requests });
  }

  /** What the service lists now. */
  listing(): StagedRecord[] {
    for (const key of this.#now.keys()) this.#ever.add(key);
    const records = [...this.#now].map(([key, { credits, requests }]) => {
      const isSafe = Number.isSafeInteger(Number(credits));
      const [period = '', tenantId = ''] = key.split(' ');
      return { tenantId, period, credits: isSafe ? Number(credits) : credits, requests };
    });
    return [...records, GHOST];
  }

  mayClose(period: string): boolean {
    return !this.closed.has(period) && this.knowsPeriod(period);
  }

  knowsPeriod(period: string): boolean {
    return [...this.#ever].some((key) => key.startsWith(period));
  }

  knowsTenant(tenant: string): boolean {
    return [...this.#ever].some((key) => key.endsWith(` ${tenant}`));
  }

  close(period: string): void {
    this.closed.set(period, this.cards);
  }

  isUnpriced(key: string): boolean {
    return this.#price(key) === null;
  }

  /** What each key that was ever read costs by the cost cards of now, closed or not; null: more than 64 bits hold. */
  costs(): Map<string, { currency: string; amount: bigint | null }> {
    const found = new Map<string, { currency: string; amount: bigint | null }>();
    for (const key of this.#ever) {
      const cost = this.#priceBy(this.costCards, key);
      if (cost !== null) found.set(key, cost);
    }
    return found;
  }

  /** Of the card that prices a key; null: none does. */
  currencyOf(key: string): string | null {
    return this.#priceBy(this.closed.get(key.slice(0, 7)) ?? this.cards, key)?.currency ?? null;
  }

  /** By key and currency; nothing owed is left out. */
  owed(): Map<string, bigint> {
    const owed = new Map<string, bigint>();
    const add = (place: string, amount: bigint): unknown => owed.set(place, (owed.get(place) ?? 0n) + amount);
    for (const key of this.#ever) {
      const price = this.#price(key);
      if (price !== null) add(`${key} ${price.currency}`, price.amount);
    }
    for (const { tenant, period, amountMinor, currency } of this.lines.values()) {
      add(`${keyOf(TENANTS[tenant] ?? '', PERIODS[period] ?? '')} ${currency}`, amountMinor);
    }
    return new Map([...owed].filter(([, amount]) => amount !== 0n).sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #price(key: string): { currency: string; amount: bigint } | null {
    const priced = this.#priceBy(this.closed.get(key.slice(0, 7)) ?? this.cards, key);
    return priced === null || priced.amount === null ? null : { ...priced, amount: priced.amount };
  }

  #priceBy(cards: readonly RateCardText[], key: string): { currency: string; amount: bigint | null } | null {
    const [period = '', tenant = ''] = key.split(' ');
    const card = chosen(cards, tenant, period);
    if (card === null) return null;
    const { currency } = card;
    const used = this.#now.get(key);
    if (used === undefined) return { currency, amount: 0n };
    const amounts = exactLines(resolveRateCard(card), used.credits, BigInt(used.requests)).map((line) => line.amount);
    const amount = amounts.reduce((sum, one) => sum + one, 0n);
    const fits = [...amounts, amount].every((one) => one <= LARGEST && one >= -LARGEST);
    return { currency, amount: fits ? amount : null };
  }
}

/** Of the patterns of these tests: which tenants each one fits, and which is the more specific. */
const FITTING: Readonly<Record<string, readonly string[]>> = {
  'a*': ['acme', 'apple'],
  '*e': ['acme', 'apple'],
  'ap*': ['apple'],
};
const RANKS = ['acme', 'ap*', 'a*'];

function chosen(cards: readonly RateCardText[], tenant: string, period: string): RateCardText | null {
  const fitting = cards.filter((card) => {
    const isFor =
      card.tenant === undefined || card.tenant === tenant || FITTING[card.tenant]?.includes(tenant) === true;
    return isFor && card.from_period <= period;
  });
  const own = fitting.filter((card) => card.tenant === tenant);
  let left = own.length > 0 ? own : fitting;
  const most = Math.max(...left.map(({ priority = 0 }) => priority));
  left = left.filter(({ priority = 0 }) => priority === most);
  const best = Math.min(...left.map(rankOf));
  left = left.filter((card) => rankOf(card) === best);
  const latest = left
    .map(({ from_period }) => from_period)
    .sort()
    .at(-1);
  left = left.filter(({ from_period }) => from_period === latest);
  return left.length === 1 ? (left[0] ?? null) : null;
}

/** `*e` is as specific as `a*`: both have one character. */
function rankOf({ tenant }: RateCardText): number {
  return tenant === undefined ? RANKS.length : RANKS.indexOf(tenant === '*e' ? 'a*' : tenant);
}

/** Whether `*e` meets one of the others that overlap with it. */
export function areUnclear(cards: readonly RateCardText[]): boolean {
  const ofE = cards.filter(({ tenant }) => tenant === '*e');
  return ofE.some(({ priority }) => {
    return cards.some((card) => (card.tenant === 'a*' || card.tenant === 'ap*') && card.priority === priority);
  });
}
