import { createHash } from 'node:crypto';

/** One record of a period: tenant number, credits, requests. */
export type FigureVisitor = (tenantKey: number, credits: number | bigint, requests: number | bigint) => void;

/** The figures of one period by tenant number. */
export interface OrderedFigures {
  /** Visits every record; writing in the order of the ledger's keys is what makes a merge cheap. */
  forEach(visit: FigureVisitor): void;
  /** SHA-256, equal for the same figures of the same tenants, in whatever order they came. */
  digest(): Buffer;
}

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

  /** The records by tenant number, in which order they are written and have one digest. */
  inOrder(): OrderedFigures {
    const order = this.#positionsInOrder();
    const forEach = (visit: FigureVisitor): void => {
      for (const at of order) {
        const large = Number.isNaN(this.#credits[at]) ? this.#large.get(at) : undefined;
        const tenantKey = this.#tenants[at] as number;
        if (large !== undefined) visit(tenantKey, large.credits, large.requests);
        else visit(tenantKey, this.#credits[at] as number, this.#requests[at] as number);
      }
    };
    return { forEach, digest: () => digestOf(forEach) };
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
    // By half: twice as much would leave half of it empty where there are millions.
    const capacity = Math.ceil(this.#size * 1.5);
    this.#tenants = grown(this.#tenants, new Uint32Array(capacity));
    this.#credits = grown(this.#credits, new Float64Array(capacity));
    this.#requests = grown(this.#requests, new Float64Array(capacity));
  }
}

function grown<Column extends Uint32Array | Float64Array>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}

/** Records whose figures are hashed at a time. */
const HASHED_AT_ONCE = 4096;

/** Tenant numbers and figures in blocks; figures that a double cannot hold follow as text at the end. */
function digestOf(forEach: OrderedFigures['forEach']): Buffer {
  const hash = createHash('sha256');
  const tenants = new Uint32Array(HASHED_AT_ONCE);
  const figures = new Float64Array(HASHED_AT_ONCE * 2);
  const large: string[] = [];
  let held = 0;
  const flush = (): void => {
    hash.update(tenants.subarray(0, held)).update(figures.subarray(0, held * 2));
    held = 0;
  };
  forEach((tenantKey, credits, requests) => {
    const exact = typeof credits === 'number' && typeof requests === 'number';
    if (!exact) large.push(`${tenantKey} ${credits} ${requests}\n`);
    tenants[held] = tenantKey;
    figures[held * 2] = exact ? credits : -1;
    figures[held * 2 + 1] = exact ? requests : -1;
    held += 1;
    if (held === HASHED_AT_ONCE) flush();
  });
  flush();
  return hash.update(large.join('')).digest();
}
