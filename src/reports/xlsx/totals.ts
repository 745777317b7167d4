import type { SheetColumn, SheetValue } from '../formats/columns.ts';

/** What rows come to: of the columns that are to be added up, amounts by the currency of their rows. */
export class Totals {
  readonly #columns: readonly SheetColumn[];
  readonly #currencyAt: number;
  readonly #integers: (bigint | null)[];
  readonly #amounts = new Map<string, Map<number, Decimal>>();

  constructor(columns: readonly SheetColumn[]) {
    this.#columns = columns;
    this.#currencyAt = columns.findIndex(({ name }) => name === 'currency');
    this.#integers = columns.map(() => null);
  }

  add(row: readonly SheetValue[]): void {
    for (const [at, { sum, kind }] of this.#columns.entries()) {
      const value = row[at] ?? null;
      if (sum !== true || value === null) continue;
      if (kind === 'amount') this.#addAmount(row[this.#currencyAt] ?? null, at, String(value));
      else this.#integers[at] = (this.#integers[at] ?? 0n) + BigInt(value);
    }
  }

  #addAmount(currency: SheetValue, at: number, plain: string): void {
    if (typeof currency !== 'string') return;
    const own = this.#amounts.get(currency) ?? new Map<number, Decimal>();
    this.#amounts.set(currency, own.set(at, sumOf(own.get(at) ?? { digits: 0, units: 0n }, plain)));
  }

  /** Rows below the others: one of the integers, with the amounts of the first currency, and one for each further currency. */
  get rows(): SheetValue[][] {
    const currencies = [...this.#amounts.keys()].sort();
    if (currencies.length === 0 && this.#integers.every((sum) => sum === null)) return [];
    return (currencies.length === 0 ? [null] : currencies).map((currency, index) =>
      this.#columns.map((_, at) => {
        const amount = currency === null ? undefined : this.#amounts.get(currency)?.get(at);
        if (amount !== undefined) return textOf(amount);
        if (at === this.#currencyAt) return currency;
        if (at === 0) return 'Total';
        return index === 0 ? (this.#integers[at] ?? null) : null;
      }),
    );
  }
}

/** An exact decimal of so many units of its last digit. */
interface Decimal {
  digits: number;
  units: bigint;
}

function sumOf({ digits, units }: Decimal, plain: string): Decimal {
  const [whole = '', part = ''] = plain.split('.');
  const wanted = Math.max(digits, part.length);
  return { digits: wanted, units: units * 10n ** BigInt(wanted - digits) + BigInt(whole + part.padEnd(wanted, '0')) };
}

function textOf({ digits, units }: Decimal): string {
  const text = (units < 0n ? -units : units).toString().padStart(digits + 1, '0');
  const sign = units < 0n ? '-' : '';
  return digits === 0 ? `${sign}${text}` : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}
