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

/** The largest figure of 32 bits. */
const NARROW = 2 ** 32 - 1;

/** Columns of so many records. They are not grown: what is copied to larger ones would be in memory twice. */
class Block {
  readonly tenants = new Uint32Array(BLOCK);
  /** Credits and requests of a record, side by side; doubles once one of them is negative or beyond 32 bits. */
  figures: Uint32Array | Float64Array = new Uint32Array(BLOCK * 2);

  set(at: number, tenantKey: number, credits: number, requests: number): void {
    const narrow = credits >= 0 && credits <= NARROW && requests >= 0 && requests <= NARROW;
    if (!narrow && this.figures instanceof Uint32Array) this.figures = new Float64Array(this.figures);
    this.tenants[at] = tenantKey;
    // Zero has a sign in JSON, and none in the ledger.
    this.figures[at * 2] = credits + 0;
    this.figures[at * 2 + 1] = requests + 0;
  }
}

const NO_BLOCK = new Block();

/** The figures of one period, one tenant at most once, in columns of numbers: mostly 12 bytes a record. */
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
    if (typeof credits === 'number' && typeof requests === 'number') {
      this.#last.set(at, tenantKey, credits, requests);
    } else {
      this.#last.set(at, tenantKey, 0, 0);
      this.#large.set(this.#size, { credits, requests });
    }
    this.#size += 1;
  }

  /**
   * The records by tenant number: writing in the order of the ledger's keys is what makes a merge cheap. With the
   * memory of an order that is not needed any more, that is overwritten instead of taking as much again.
   */
  inOrder(memory = new OrderedFigures()): OrderedFigures {
    memory.reset(this.#size);
    const places = this.#places(memory);
    for (let index = 0; index < places.length; index += 1) {
      if (places[index] === 0) continue;
      const position = (places[index] as number) - 1;
      const { tenants, figures } = this.#blocks[position >>> BLOCK_BITS] as Block;
      const at = position & IN_BLOCK;
      const large = this.#large.size > 0 ? this.#large.get(position) : undefined;
      memory.push(tenants[at] as number, figures[at * 2] as number, figures[at * 2 + 1] as number, large);
    }
    return memory;
  }

  /**
   * The positions, from 1, by tenant number; 0 is none. Counting places by number costs a tenth of sorting; where few
   * tenants lie far apart, sorting wins.
   */
  #places(memory: OrderedFigures): Uint32Array {
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
    const places = memory.zeros(Math.max(0, most - least + 1));
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
  #tenants = new Uint32Array();
  /** Credits and requests of a record, side by side. */
  #figures = new Float64Array();
  /** By place in the order. */
  readonly #large = new Map<number, LargeFigures>();
  #zeros = new Uint32Array();
  #size = 0;

  /** Forgets everything and makes room for so many records. */
  reset(capacity: number): void {
    this.#size = 0;
    this.#large.clear();
    if (capacity <= this.#tenants.length) return;
    this.#tenants = new Uint32Array(capacity);
    this.#figures = new Float64Array(capacity * 2);
  }

  /** So many zeros to work with until the next are asked for. */
  zeros(count: number): Uint32Array {
    if (count > this.#zeros.length) this.#zeros = new Uint32Array(count);
    return this.#zeros.subarray(0, count).fill(0);
  }

  /** Adds the next record, with its exact figures if a double cannot hold them. */
  push(tenantKey: number, credits: number, requests: number, large: LargeFigures | undefined): void {
    const at = this.#size;
    this.#tenants[at] = tenantKey;
    this.#figures[at * 2] = credits;
    this.#figures[at * 2 + 1] = requests;
    if (large !== undefined) this.#large.set(at, large);
    this.#size = at + 1;
  }

  forEach(visit: (tenantKey: number, credits: number | bigint, requests: number | bigint) => void): void {
    const tenants = this.#tenants;
    const figures = this.#figures;
    for (let at = 0; at < this.#size; at += 1) {
      const large = this.#large.size > 0 ? this.#large.get(at) : undefined;
      const tenantKey = tenants[at] as number;
      if (large !== undefined) visit(tenantKey, large.credits, large.requests);
      else visit(tenantKey, figures[at * 2] as number, figures[at * 2 + 1] as number);
    }
  }

  /** SHA-256, equal for the same figures of the same tenants; figures that a double cannot hold follow as text. */
  digest(): Buffer {
    const hash = createHash('sha256')
      .update(this.#tenants.subarray(0, this.#size))
      .update(this.#figures.subarray(0, this.#size * 2));
    for (const [at, { credits, requests }] of this.#large) hash.update(`${at} ${credits} ${requests}\n`);
    return hash.digest();
  }
}
