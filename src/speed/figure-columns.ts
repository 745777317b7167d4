import { createHash } from 'node:crypto';
import { AppError } from '../core/errors.ts';
import { LARGEST_FIGURE } from '../core/figure.ts';

/** Credits and requests, at least one of them too large for a double to be exact. */
interface LargeFigures {
  credits: number | bigint;
  requests: number | bigint;
}

/** Records per block, a power of two. */
const ROWS_PER_BLOCK = 8192;
const ROW_MASK = ROWS_PER_BLOCK - 1;
const ROW_BITS = Math.log2(ROWS_PER_BLOCK);
/** Tenants are sorted instead of counted once their numbers span more than this many times their count. */
const MAX_GAP = 16;

/** Records ordered at a time, and the numbers per record. */
const ROWS_PER_CHUNK = 1024;
const ROW = 3;

/** The largest figure that fits into 32 bits. */
const NARROW = 2 ** 32 - 1;

/** Columns of a fixed number of records. They never grow: copying them to larger ones would need the memory twice. */
class Block {
  readonly tenants = new Uint32Array(ROWS_PER_BLOCK);
  /** Credits and requests of a record, next to each other; doubles once a figure is negative or exceeds 32 bits. */
  figures: Uint32Array | Float64Array = new Uint32Array(ROWS_PER_BLOCK * 2);

  set(at: number, tenantKey: number, credits: number, requests: number): void {
    const narrow = credits >= 0 && credits <= NARROW && requests >= 0 && requests <= NARROW;
    if (!narrow && this.figures instanceof Uint32Array) this.figures = new Float64Array(this.figures);
    this.tenants[at] = tenantKey;
    // Zero has a sign in JSON, but not in the ledger.
    this.figures[at * 2] = credits + 0;
    this.figures[at * 2 + 1] = requests + 0;
  }
}

const NO_BLOCK = new Block();

/** The figures of one period, each tenant at most once, in columns of numbers: mostly 12 bytes a record. */
export class FigureColumns {
  readonly #blocks: Block[] = [];
  #last = NO_BLOCK;
  /** By tenant number; the columns contain 0 for them. */
  readonly #large = new Map<number, LargeFigures>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(tenantKey: number, credits: number | bigint, requests: number | bigint): void {
    const at = this.#size & ROW_MASK;
    if (at === 0) {
      this.#last = new Block();
      this.#blocks.push(this.#last);
    }
    if (typeof credits === 'number' && typeof requests === 'number') {
      this.#last.set(at, tenantKey, credits, requests);
    } else {
      for (const figure of [credits, requests]) requireFigure(figure);
      this.#last.set(at, tenantKey, 0, 0);
      this.#large.set(tenantKey, { credits, requests });
    }
    this.#size += 1;
  }

  /**
   * Returns the records by tenant number, because writing in the ledger's key order makes a merge cheap. Overwrites the
   * result of an earlier call with the same memory.
   */
  inOrder(memory = new OrderMemory()): OrderedFigures {
    return new OrderedFigures(this.#blocks, this.#large, this.#order(memory));
  }

  /** Counting by tenant number costs a tenth of sorting; for a few tenants far apart, sorting is faster. */
  #order(memory: OrderMemory): Order {
    let least = Number.POSITIVE_INFINITY;
    let most = 0;
    for (let position = 0; position < this.#size; position += 1) {
      const tenantKey = this.#tenantAt(position);
      if (tenantKey < least) least = tenantKey;
      if (tenantKey > most) most = tenantKey;
    }
    if (most - least > this.#size * MAX_GAP) {
      const positions = Uint32Array.from({ length: this.#size }, (_, position) => position + 1);
      return { places: positions.sort((a, b) => this.#tenantAt(a - 1) - this.#tenantAt(b - 1)), first: null };
    }
    const places = memory.zeros(Math.max(0, most - least + 1));
    for (let position = 0; position < this.#size; position += 1) {
      places[this.#tenantAt(position) - least] = position + 1;
    }
    return { places, first: least };
  }

  #tenantAt(position: number): number {
    return (this.#blocks[position >>> ROW_BITS] as Block).tenants[position & ROW_MASK] as number;
  }
}

/**
 * Throws for a figure out of bounds. Only bigints can be; the page parser rejects them earlier, with the field's name.
 */
function requireFigure(figure: number | bigint): void {
  if (figure >= -LARGEST_FIGURE && figure <= LARGEST_FIGURE) return;
  throw new AppError('figure_too_large', `${figure} is no figure: the ledger holds those up to ±(2^63-1)`);
}

/** Reusable memory for ordering. */
export class OrderMemory {
  #places = new Uint32Array();

  /** Returns `count` zeros, valid until the next call. */
  zeros(count: number): Uint32Array {
    if (count > this.#places.length) this.#places = new Uint32Array(count);
    return this.#places.subarray(0, count).fill(0);
  }
}

interface Order {
  /** Positions from 1, by tenant number; 0 means none. */
  places: Uint32Array;
  /** The tenant number of the first place when there is one place per number; null when places are sorted positions. */
  first: number | null;
}

export class OrderedFigures {
  readonly #blocks: readonly Block[];
  readonly #large: ReadonlyMap<number, LargeFigures>;
  readonly #order: Order;

  constructor(blocks: readonly Block[], large: ReadonlyMap<number, LargeFigures>, order: Order) {
    this.#blocks = blocks;
    this.#large = large;
    this.#order = order;
  }

  forEach(visit: (tenantKey: number, credits: number | bigint, requests: number | bigint) => void): void {
    const large = this.#large;
    for (const rows of this.#chunks()) {
      for (let at = 0; at < rows.length; at += ROW) {
        const tenantKey = rows[at] as number;
        const exact = large.size > 0 ? large.get(tenantKey) : undefined;
        if (exact !== undefined) visit(tenantKey, exact.credits, exact.requests);
        else visit(tenantKey, rows[at + 1] as number, rows[at + 2] as number);
      }
    }
  }

  /** Returns a SHA-256, equal for equal figures of the same tenants; figures too large for a double follow as text. */
  digest(): Buffer {
    const hash = createHash('sha256');
    for (const rows of this.#chunks()) hash.update(rows);
    const large = [...this.#large].sort(([a], [b]) => a - b);
    for (const [tenantKey, { credits, requests }] of large) hash.update(`${tenantKey} ${credits} ${requests}\n`);
    return hash.digest();
  }

  /** Yields tenant number, credits and requests of consecutive records; the next chunk overwrites the array. */
  *#chunks(): Generator<Float64Array> {
    const rows = new Float64Array(ROWS_PER_CHUNK * ROW);
    const { places, first } = this.#order;
    const blocks = this.#blocks;
    let used = 0;
    for (let index = 0; index < places.length; index += 1) {
      const place = places[index] as number;
      if (place === 0) continue;
      const position = place - 1;
      const { tenants, figures } = blocks[position >>> ROW_BITS] as Block;
      const at = position & ROW_MASK;
      // Computed, because reading it from the column would cost another distant memory access.
      rows[used] = first === null ? (tenants[at] as number) : first + index;
      rows[used + 1] = figures[at * 2] as number;
      rows[used + 2] = figures[at * 2 + 1] as number;
      used += ROW;
      if (used < rows.length) continue;
      yield rows;
      used = 0;
    }
    yield rows.subarray(0, used);
  }
}
