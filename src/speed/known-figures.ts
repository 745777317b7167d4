/** Keys per row that SQLite joins: reading each key as its own row would take a third longer. */
export const KEYS_PER_READ = 4096;

/**
 * Consecutive keys of a period: the tenant numbers, then the credits of each, then its requests. Figures beyond 2^53
 * are the nearest double. Fewer than `KEYS_PER_READ` keys are the last ones.
 */
export type KnownRows = Float64Array<ArrayBuffer>;

/** The kind and deltas of an entry. */
interface Change {
  /** One of the two kinds passed to the constructor. */
  kind: number;
  credits: number;
  requests: number;
}

/** How the ledger numbers the kinds of an entry. */
interface ChangeKinds {
  increased: number;
  decreased: number;
}

const isExact = Number.isSafeInteger;

/**
 * The ledger's figures of one period, read in step with records in the same key order. Most records of a sync are
 * unchanged: detecting that here saves SQLite a look-up for each.
 */
export class KnownFigures {
  readonly #next: (after: number) => KnownRows;
  readonly #kinds: ChangeKinds;
  #rows: KnownRows = new Float64Array();
  #keys = 0;
  #at = 0;
  #isLast = false;
  #missed = false;
  #found = -1;

  /** `next` returns the keys after the given one; it is called once per position, in key order. */
  constructor(next: (after: number) => KnownRows, kinds: ChangeKinds) {
    this.#next = next;
    this.#kinds = kinds;
  }

  /**
   * Reports whether the ledger has exactly these figures for the tenant; call it in ascending key order. False means
   * that they may differ: figures beyond 2^53 are read as the nearest double, which no smaller integer equals.
   */
  holds(tenantKey: number, credits: number | bigint, requests: number | bigint): boolean {
    this.#found = this.#find(tenantKey);
    return this.#found >= 0 && this.#credits() === credits && this.#requests() === requests;
  }

  /**
   * Returns the change from the figures of the last key passed to `holds` to these; null when doubles cannot express it
   * exactly.
   */
  changeTo(credits: number | bigint, requests: number | bigint): Change | null {
    if (this.#found < 0 || typeof credits === 'bigint' || typeof requests === 'bigint') return null;
    const before = { credits: this.#credits(), requests: this.#requests() };
    const change = { credits: credits - before.credits, requests: requests - before.requests };
    if (![before, change].every((each) => isExact(each.credits) && isExact(each.requests))) return null;
    const isMore = change.credits > 0 || (change.credits === 0 && change.requests > 0);
    return { kind: isMore ? this.#kinds.increased : this.#kinds.decreased, ...change };
  }

  /** Reports whether every key of the ledger was passed to `holds`. Call it last. */
  coversAllKeys(): boolean {
    while (!this.#missed && this.#at === this.#keys && !this.#isLast) this.#readOn();
    return !this.#missed && this.#at === this.#keys;
  }

  #credits(): number {
    return this.#rows[this.#keys + this.#found] as number;
  }

  #requests(): number {
    return this.#rows[2 * this.#keys + this.#found] as number;
  }

  /** Returns the position of a key, or -1. */
  #find(tenantKey: number): number {
    for (;;) {
      if (this.#at === this.#keys) {
        if (this.#isLast) return -1;
        this.#readOn();
        continue;
      }
      const key = this.#rows[this.#at] as number;
      if (key > tenantKey) return -1;
      this.#at += 1;
      if (key === tenantKey) return this.#at - 1;
      this.#missed = true;
    }
  }

  #readOn(): void {
    const after = this.#keys === 0 ? 0 : (this.#rows[this.#keys - 1] as number);
    const { buffer } = this.#rows;
    this.#rows = this.#next(after);
    // Released by hand: little other garbage accumulates here, so the collector would keep this memory for long.
    buffer.transfer(0);
    this.#keys = this.#rows.length / 3;
    this.#at = 0;
    this.#isLast = this.#keys < KEYS_PER_READ;
  }
}
