import { createHash } from 'node:crypto';
import { LARGEST_FIGURE } from '../../../core/figure.ts';
import { LedgerError } from '../../store/file/sqlite-errors.ts';

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

/** Records that are put in order at a time, and the numbers of one. */
const ROWS_PER_CHUNK = 1024;
const ROW = 3;

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
  /** By tenant number; 0 stands in their column. */
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
      for (const figure of [credits, requests]) requireFigure(figure);
      this.#last.set(at, tenantKey, 0, 0);
      this.#large.set(tenantKey, { credits, requests });
    }
    this.#size += 1;
  }

  /**
   * The records by tenant number: writing in the order of the ledger's keys is what makes a merge cheap. What was asked
   * for before with the same memory is overwritten.
   */
  inOrder(memory = new OrderMemory()): OrderedFigures {
    return new OrderedFigures(this.#blocks, this.#large, this.#order(memory));
  }

  /** Counting places by number costs a tenth of sorting; where few tenants lie far apart, sorting wins. */
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
    return (this.#blocks[position >>> BLOCK_BITS] as Block).tenants[position & IN_BLOCK] as number;
  }
}

/** Only bigints can lie beyond the bounds; the page parser refuses them before, and names their field. */
function requireFigure(figure: number | bigint): void {
  if (figure >= -LARGEST_FIGURE && figure <= LARGEST_FIGURE) return;
  throw new LedgerError('figure_too_large', `${figure} is no figure: the ledger holds those up to ±(2^63-1)`);
}

/** Memory to work out an order in. */
export class OrderMemory {
  #places = new Uint32Array();

  /** So many zeros, until the next are asked for. */
  zeros(count: number): Uint32Array {
    if (count > this.#places.length) this.#places = new Uint32Array(count);
    return this.#places.subarray(0, count).fill(0);
  }
}

interface Order {
  /** Positions from 1, by tenant number; 0 is none. */
  places: Uint32Array;
  /** The number of which the first place is, where there is a place for each number from it on. */
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

  /** SHA-256, equal for the same figures of the same tenants; figures that a double cannot hold follow as text. */
  digest(): Buffer {
    const hash = createHash('sha256');
    for (const rows of this.#chunks()) hash.update(rows);
    const large = [...this.#large].sort(([a], [b]) => a - b);
    for (const [tenantKey, { credits, requests }] of large) hash.update(`${tenantKey} ${credits} ${requests}\n`);
    return hash.digest();
  }

  /** Tenant number, credits and requests of some records, one after the other; the next ones overwrite them. */
  *#chunks(): Generator<Float64Array> {
    const rows = new Float64Array(ROWS_PER_CHUNK * ROW);
    const { places, first } = this.#order;
    const blocks = this.#blocks;
    let used = 0;
    for (let index = 0; index < places.length; index += 1) {
      const place = places[index] as number;
      if (place === 0) continue;
      const position = place - 1;
      const { tenants, figures } = blocks[position >>> BLOCK_BITS] as Block;
      const at = position & IN_BLOCK;
      // To read it from the column would be another access to memory far away.
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
