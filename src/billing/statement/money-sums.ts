import { formatMinor } from '../../core/money.ts';

export interface Money {
  currency: string;
  amountMinor: bigint;
}

/** Sums by currency. */
export class MoneySums {
  readonly #byCurrency = new Map<string, bigint>();

  /** What cannot be priced is in no sum. */
  add({ currency, amountMinor }: { currency: string | null; amountMinor: bigint | null }): void {
    if (currency === null || amountMinor === null) return;
    this.#byCurrency.set(currency, (this.#byCurrency.get(currency) ?? 0n) + amountMinor);
  }

  /** In the order of their codes. */
  get money(): Money[] {
    const sorted = [...this.#byCurrency].sort(([a], [b]) => (a < b ? -1 : 1));
    return sorted.map(([currency, amountMinor]) => ({ currency, amountMinor }));
  }
}

/** Sums as documents have them. */
export function totalsOf(money: readonly Money[]) {
  return money.map(({ currency, amountMinor }) => {
    return { currency, amount_minor: amountMinor, amount: formatMinor(amountMinor, currency) };
  });
}
