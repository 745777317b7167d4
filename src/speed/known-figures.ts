/**
 * Number of tenants whose figures one query returns, together in a single row of SQLite: a row for each tenant takes a
 * third longer.
 */
export const KEYS_PER_READ = 4096;

/**
 * The figures of consecutive tenants in a period: first all tenant numbers, then all credits, then all requests. A
 * figure beyond 2^53 is rounded to the nearest double. A chunk with fewer than `KEYS_PER_READ` tenants is the last one.
 */
export type FigureChunk = Float64Array<ArrayBuffer>;

/** The entry that a changed record leads to: its kind, and the changes of credits and requests. */
interface Change {
  /** The number that stands for the kind of the entry: `increased` or `decreased` of `ChangeKinds`. */
  kind: number;
  credits: number;
  requests: number;
}

/** The numbers by which the ledger stores the two kinds of entries for changed records. */
interface ChangeKinds {
  increased: number;
  decreased: number;
}

const isExact = Number.isSafeInteger;

/**
 * The figures that the ledger has for one period. The ledger's figures and the records of a sync are read in the same
 * order, by tenant number. Most records are unchanged; recognizing them here saves a look-up in SQLite for each of
 * them.
 */
export class KnownFigures {
  readonly #next: (after: number) => FigureChunk;
  readonly #kinds: ChangeKinds;
  #rows: FigureChunk = new Float64Array();
  #keys = 0;
  #at = 0;
  #isLast = false;
  #missed = false;
  #found = -1;

  /** `next` reads the figures after the given tenant number. It is called with ascending numbers, beginning with 0. */
  constructor(next: (after: number) => FigureChunk, kinds: ChangeKinds) {
    this.#next = next;
    this.#kinds = kinds;
  }

  /**
   * Reports whether the ledger has exactly these figures for the tenant. Call it with ascending tenant numbers. The
   * ledger's figures beyond 2^53 are rounded here, so equal figures may be reported as different. Different figures are
   * never reported as equal, because a rounded figure is always larger in magnitude than an exact one.
   */
  holds(tenantKey: number, credits: number | bigint, requests: number | bigint): boolean {
    this.#found = this.#find(tenantKey);
    return this.#found >= 0 && this.#credits() === credits && this.#requests() === requests;
  }

  /**
   * Returns the change from the ledger's figures to these, for the tenant last passed to `holds`. Null if the ledger
   * has no figures for it, or if doubles cannot represent the change exactly.
   */
  changeTo(credits: number | bigint, requests: number | bigint): Change | null {
    if (this.#found < 0 || typeof credits === 'bigint' || typeof requests === 'bigint') return null;
    const before = { credits: this.#credits(), requests: this.#requests() };
    const change = { credits: credits - before.credits, requests: requests - before.requests };
    if (![before, change].every((each) => isExact(each.credits) && isExact(each.requests))) return null;
    const isMore = change.credits > 0 || (change.credits === 0 && change.requests > 0);
    return { kind: isMore ? this.#kinds.increased : this.#kinds.decreased, ...change };
  }

  /**
   * Reports whether every tenant that the ledger has in this period was passed to `holds`. Call it after the last
   * record.
   */
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

  /** Returns the index of a tenant in the current chunk; -1 if the ledger has no figures for the tenant. */
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
    // Releases the memory of the previous chunk at once, because the garbage collector runs too rarely here.
    buffer.transfer(0);
    this.#keys = this.#rows.length / 3;
    this.#at = 0;
    this.#isLast = this.#keys < KEYS_PER_READ;
  }
}
