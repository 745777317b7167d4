import { createHash } from 'node:crypto';
import { AppError } from '../core/errors.ts';
import { LARGEST_FIGURE } from '../core/figure.ts';

/** The credits and requests of a record, of which at least one is too large to be exact as a double. */
interface LargeFigures {
  credits: number | bigint;
  requests: number | bigint;
}

/** Number of records in a block. It must be a power of two. */
const ROWS_PER_BLOCK = 8192;
const ROW_MASK = ROWS_PER_BLOCK - 1;
const ROW_BITS = Math.log2(ROWS_PER_BLOCK);
/**
 * Records are sorted by comparing them, instead of by counting, if the range of their tenant numbers is more than this
 * many times the number of records.
 */
const MAX_GAP = 16;

/** Number of records that are passed on at a time. */
const ROWS_PER_CHUNK = 1024;
/** Each record of a chunk consists of this many numbers: tenant number, credits and requests. */
const ROW = 3;

/** The largest figure that fits into 32 bits. */
const MAX_NARROW_FIGURE = 2 ** 32 - 1;

/**
 * The columns (tenant numbers and figures) of `ROWS_PER_BLOCK` records. A block never grows: it would have to be
 * copied, which would need twice the memory.
 */
class Block {
  readonly tenants = new Uint32Array(ROWS_PER_BLOCK);
  /**
   * The credits and requests of each record, next to each other. All figures of a block are 32-bit integers until one
   * of them is negative or larger; from then on, all of them are doubles.
   */
  figures: Uint32Array | Float64Array = new Uint32Array(ROWS_PER_BLOCK * 2);

  set(at: number, tenantKey: number, credits: number, requests: number): void {
    const narrow = credits >= 0 && credits <= MAX_NARROW_FIGURE && requests >= 0 && requests <= MAX_NARROW_FIGURE;
    if (!narrow && this.figures instanceof Uint32Array) this.figures = new Float64Array(this.figures);
    this.tenants[at] = tenantKey;
    // Adding 0 turns -0 into 0: JSON distinguishes the two, but the ledger does not.
    this.figures[at * 2] = credits + 0;
    this.figures[at * 2 + 1] = requests + 0;
  }
}

const NO_BLOCK = new Block();

/** The credits and requests of one period, with at most one record per tenant. Most records take 12 bytes. */
export class FigureColumns {
  readonly #blocks: Block[] = [];
  #last = NO_BLOCK;
  /**
   * By tenant number, the figures that doubles cannot represent exactly. The columns contain 0 instead of these
   * figures.
   */
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
   * Returns the records ordered by tenant number, which is the key order of the ledger and makes a merge cheap. A
   * result is valid until the next call with the same `memory`.
   */
  inOrder(memory = new SlotMemory()): FiguresByTenant {
    return new FiguresByTenant(this.#blocks, this.#large, this.#order(memory));
  }

  /**
   * Orders the records. Counting by tenant number takes a tenth of the time of sorting, unless the numbers are far
   * apart.
   */
  #order(memory: SlotMemory): Order {
    let least = Number.POSITIVE_INFINITY;
    let most = 0;
    for (let position = 0; position < this.#size; position += 1) {
      const tenantKey = this.#tenantAt(position);
      if (tenantKey < least) least = tenantKey;
      if (tenantKey > most) most = tenantKey;
    }
    if (most - least > this.#size * MAX_GAP) {
      const positions = Uint32Array.from({ length: this.#size }, (_, position) => position + 1);
      return { slots: positions.sort((a, b) => this.#tenantAt(a - 1) - this.#tenantAt(b - 1)), first: null };
    }
    const slots = memory.zeros(Math.max(0, most - least + 1));
    for (let position = 0; position < this.#size; position += 1) {
      slots[this.#tenantAt(position) - least] = position + 1;
    }
    return { slots, first: least };
  }

  #tenantAt(position: number): number {
    return (this.#blocks[position >>> ROW_BITS] as Block).tenants[position & ROW_MASK] as number;
  }
}

/**
 * Throws `figure_too_large` for a figure that the ledger cannot store. Only a bigint can be so large. The page parser
 * rejects such figures earlier and names the field.
 */
function requireFigure(figure: number | bigint): void {
  if (figure >= -LARGEST_FIGURE && figure <= LARGEST_FIGURE) return;
  throw new AppError('figure_too_large', `${figure} is out of range: the ledger stores integers up to ±(2^63-1)`);
}

/** Memory for the array that orders the records. It is used again each time, because allocating a new array is slow. */
export class SlotMemory {
  #slots = new Uint32Array();

  /** Returns an array of `count` zeros. It is valid until the next call. */
  zeros(count: number): Uint32Array {
    if (count > this.#slots.length) this.#slots = new Uint32Array(count);
    return this.#slots.subarray(0, count).fill(0);
  }
}

interface Order {
  /**
   * The positions of the records, counted from 1, in the order of their tenant numbers. If the records were ordered by
   * counting, the array has one element for each tenant number of the range; the element is 0 if no record has that
   * number.
   */
  slots: Uint32Array;
  /**
   * The tenant number that the first element of `slots` stands for; null if the records were sorted by comparing them.
   */
  first: number | null;
}

/** The records of `FigureColumns` in the order of tenant numbers. */
export class FiguresByTenant {
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

  /**
   * Returns a SHA-256 over tenant numbers and figures. It is the same for two periods only if all tenant numbers and
   * figures are equal.
   */
  digest(): Buffer {
    const hash = createHash('sha256');
    for (const rows of this.#chunks()) hash.update(rows);
    const large = [...this.#large].sort(([a], [b]) => a - b);
    for (const [tenantKey, { credits, requests }] of large) hash.update(`${tenantKey} ${credits} ${requests}\n`);
    return hash.digest();
  }

  /** Yields tenant number, credits and requests of consecutive records. The next chunk overwrites the yielded array. */
  *#chunks(): Generator<Float64Array> {
    const rows = new Float64Array(ROWS_PER_CHUNK * ROW);
    const { slots, first } = this.#order;
    const blocks = this.#blocks;
    let used = 0;
    for (let index = 0; index < slots.length; index += 1) {
      const slot = slots[index] as number;
      if (slot === 0) continue;
      const position = slot - 1;
      const { tenants, figures } = blocks[position >>> ROW_BITS] as Block;
      const at = position & ROW_MASK;
      // After ordering by counting, the tenant number is computed from the index: reading it from the column would cost
      // another cache miss.
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
