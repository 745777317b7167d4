import { createHash } from 'node:crypto';

/** Figures of which a double cannot hold one exactly. */
interface LargeFigures {
  credits: number | bigint;
  requests: number | bigint;
}

/** Records of a block, a power of two. */
const BLOCK = 8192;
const IN_BLOCK = BLOCK - 1;
const BLOCK_BITS = Math.log2(BLOCK);
/** Numbers of tenants may be this many times as many as the tenants before they are sorted instead. */
const MAX_GAP = 16;

/** Columns of so many records. They are not grown: what is copied to larger ones would be in memory twice. */
class Block {
  readonly tenants = new Uint32Array(BLOCK);
  /** Credits and requests of a record, side by side. */
  readonly figures = new Float64Array(BLOCK * 2);
}

const NO_BLOCK = new Block();

/** The figures of one period, one tenant at most once, in columns of numbers: 20 bytes a record. */
export class FigureColumns {
  readonly #blocks: Block[] = [];
  #last = NO_BLOCK;
  /** By position; 0 stands in their column. */
  readonly #large = new Map<number, LargeFigures>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(tenantKey: number, credits: number | bigint, requests: number | bigint): void {
    const at = this.#size & IN_BLOCK;
    if (at === 0) {
      this.#last = new Block();
      this.#blocks.push(this.#last);
    }
    const { tenants, figures } = this.#last;
    tenants[at] = tenantKey;
    if (typeof credits === 'number' && typeof requests === 'number') {
      // Zero has a sign in JSON, and none in the ledger.
      figures[at * 2] = credits + 0;
      figures[at * 2 + 1] = requests + 0;
    } else {
      this.#large.set(this.#size, { credits, requests });
    }
    this.#size += 1;
  }

  /** The records by tenant number: writing in the order of the ledger's keys is what makes a merge cheap. */
  inOrder(): OrderedFigures {
    const tenants = new Uint32Array(this.#size);
    const figures = new Float64Array(this.#size * 2);
    const large = new Map<number, LargeFigures>();
    const places = this.#places();
    let next = 0;
    for (let index = 0; index < places.length; index += 1) {
      if (places[index] === 0) continue;
      const position = (places[index] as number) - 1;
      const block = this.#blocks[position >>> BLOCK_BITS] as Block;
      const at = position & IN_BLOCK;
      tenants[next] = block.tenants[at] as number;
      figures[next * 2] = block.figures[at * 2] as number;
      figures[next * 2 + 1] = block.figures[at * 2 + 1] as number;
      if (this.#large.size > 0) {
        const exact = this.#large.get(position);
        if (exact !== undefined) large.set(next, exact);
      }
      next += 1;
    }
    return new OrderedFigures(tenants, figures, large);
  }

  /**
   * The positions, from 1, by tenant number; 0 is none. Counting places by number costs a tenth of sorting; where few
   * tenants lie far apart, sorting wins.
   */
  #places(): Uint32Array {
    let least = Number.POSITIVE_INFINITY;
    let most = 0;
    for (let position = 0; position < this.#size; position += 1) {
      const tenantKey = this.#tenantAt(position);
      if (tenantKey < least) least = tenantKey;
      if (tenantKey > most) most = tenantKey;
    }
    if (most - least > this.#size * MAX_GAP) {
      const positions = Uint32Array.from({ length: this.#size }, (_, position) => position + 1);
      return positions.sort((a, b) => this.#tenantAt(a - 1) - this.#tenantAt(b - 1));
    }
    const places = new Uint32Array(Math.max(0, most - least + 1));
    for (let position = 0; position < this.#size; position += 1) {
      places[this.#tenantAt(position) - least] = position + 1;
    }
    return places;
  }

  #tenantAt(position: number): number {
    return (this.#blocks[position >>> BLOCK_BITS] as Block).tenants[position & IN_BLOCK] as number;
  }
}

/** The figures of one period by tenant number. */
export class OrderedFigures {
  readonly #tenants: Uint32Array;
  /** Credits and requests of a record, side by side. */
  readonly #figures: Float64Array;
  /** By place in the order. */
  readonly #large: ReadonlyMap<number, LargeFigures>;

  constructor(tenants: Uint32Array, figures: Float64Array, large: ReadonlyMap<number, LargeFigures>) {
    this.#tenants = tenants;
    this.#figures = figures;
    this.#large = large;
  }

  forEach(visit: (tenantKey: number, credits: number | bigint, requests: number | bigint) => void): void {
    const tenants = this.#tenants;
    const figures = this.#figures;
    for (let at = 0; at < tenants.length; at += 1) {
      const large = this.#large.size > 0 ? this.#large.get(at) : undefined;
      const tenantKey = tenants[at] as number;
      if (large !== undefined) visit(tenantKey, large.credits, large.requests);
      else visit(tenantKey, figures[at * 2] as number, figures[at * 2 + 1] as number);
    }
  }

  /** SHA-256, equal for the same figures of the same tenants; figures that a double cannot hold follow as text. */
  digest(): Buffer {
    const hash = createHash('sha256').update(this.#tenants).update(this.#figures);
    for (const [at, { credits, requests }] of this.#large) hash.update(`${at} ${credits} ${requests}\n`);
    return hash.digest();
  }
}
