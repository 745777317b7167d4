import { createHash } from 'node:crypto';

/** One record of a period: tenant number, credits, requests. */
export type FigureVisitor = (tenantKey: number, credits: number | bigint, requests: number | bigint) => void;

/** Numbers of tenants may be this many times as many as the tenants before they are sorted instead. */
const MAX_GAP = 16;

/** The figures of one period, one tenant at most once, in columns of numbers: 20 bytes a record. */
export class FigureColumns {
  #tenants = new Uint32Array(64);
  #credits = new Float64Array(64);
  #requests = new Float64Array(64);
  /** Figures that a double cannot hold exactly, by position; NaN stands in their column. */
  readonly #large = new Map<number, { credits: number | bigint; requests: number | bigint }>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(tenantKey: number, credits: number | bigint, requests: number | bigint): void {
    const at = this.#size;
    if (at === this.#tenants.length) this.#grow();
    this.#size = at + 1;
    this.#tenants[at] = tenantKey;
    if (typeof credits === 'number' && typeof requests === 'number') {
      // Zero has a sign in JSON, and none in the ledger.
      this.#credits[at] = credits + 0;
      this.#requests[at] = requests + 0;
    } else {
      this.#credits[at] = Number.NaN;
      this.#large.set(at, { credits, requests });
    }
  }

  /** Visits every record by tenant number: writing in the order of the ledger's keys is what makes a merge cheap. */
  forEachInOrder(visit: FigureVisitor): void {
    for (const at of this.#positionsInOrder()) {
      const large = Number.isNaN(this.#credits[at]) ? this.#large.get(at) : undefined;
      const tenantKey = this.#tenants[at] as number;
      if (large !== undefined) visit(tenantKey, large.credits, large.requests);
      else visit(tenantKey, this.#credits[at] as number, this.#requests[at] as number);
    }
  }

  /**
   * SHA-256 over the columns by tenant number: equal for the same figures of the same tenants, in whatever order they
   * came. Figures that a double cannot hold follow as text.
   */
  digest(): Buffer {
    const tenants = new Uint32Array(this.#size);
    const figures = new Float64Array(this.#size * 2);
    const large: string[] = [];
    let next = 0;
    this.forEachInOrder((tenantKey, credits, requests) => {
      const exact = typeof credits === 'number' && typeof requests === 'number';
      if (!exact) large.push(`${tenantKey} ${credits} ${requests}\n`);
      tenants[next] = tenantKey;
      figures[next * 2] = exact ? credits : -1;
      figures[next * 2 + 1] = exact ? requests : -1;
      next += 1;
    });
    return createHash('sha256').update(tenants).update(figures).update(large.join('')).digest();
  }

  /** Counting places by tenant number costs a tenth of sorting; where few tenants lie far apart, sorting wins. */
  #positionsInOrder(): Uint32Array {
    const size = this.#size;
    if (size === 0) return new Uint32Array();
    const tenants = this.#tenants.subarray(0, size);
    let least = Number.POSITIVE_INFINITY;
    let most = 0;
    for (const tenantKey of tenants) {
      if (tenantKey < least) least = tenantKey;
      if (tenantKey > most) most = tenantKey;
    }
    if (most - least > size * MAX_GAP) {
      return Uint32Array.from({ length: size }, (_, at) => at).sort(
        (a, b) => (tenants[a] as number) - (tenants[b] as number),
      );
    }
    const places = new Uint32Array(most - least + 1);
    for (let at = 0; at < size; at += 1) places[(tenants[at] as number) - least] = at + 1;
    const order = new Uint32Array(size);
    let next = 0;
    for (const place of places) {
      if (place === 0) continue;
      order[next] = place - 1;
      next += 1;
    }
    return order;
  }

  #grow(): void {
    this.#tenants = grown(this.#tenants, new Uint32Array(this.#size * 2));
    this.#credits = grown(this.#credits, new Float64Array(this.#size * 2));
    this.#requests = grown(this.#requests, new Float64Array(this.#size * 2));
  }
}

function grown<Column extends Uint32Array | Float64Array>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}
