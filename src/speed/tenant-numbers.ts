import { systemRandomness } from '../core/randomness.ts';

/** Size of a block in bytes. It must be a power of two. */
const BLOCK_BYTES = 1 << 16;
const NUMBER_BITS = Math.log2(BLOCK_BYTES);
const NUMBER_MASK = BLOCK_BYTES - 1;
/** Number of bytes before each id: 4 for its tenant number and 2 for the length of the id in bytes. */
const HEAD = 6;
const LONGEST = BLOCK_BYTES - HEAD;

/**
 * A map from tenant ids to tenant numbers. It stores ids as UTF-8 bytes: a million ids take half the memory of a Map of
 * strings, and an id that was scanned as bytes need not be converted.
 */
export class TenantNumbering {
  /** The largest tenant number that is already in use. The first new tenant gets the number after it. */
  readonly base: number;
  readonly #blocks: DataView[] = [];
  /** Number of bytes that are used in the last block. */
  #used = BLOCK_BYTES;
  #size = 0;
  #known = 0;
  /**
   * A hash table of pairs. A pair consists of the hash of an id and a position: that of the id's first byte in the
   * blocks, plus 1. The position 0 marks a free pair. The number of pairs is a power of two.
   */
  #table = new Int32Array(2 * 2048);
  readonly #text = Buffer.alloc(BLOCK_BYTES);

  constructor(base: number) {
    this.base = base;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a tenant that the ledger has already numbered. Call it before any new tenant gets a number. */
  addKnown(id: string, number: number): void {
    const length = this.#text.write(id);
    this.#add(this.#text, 0, length, number, this.#find(this.#text, 0, length));
    this.#known = this.#size;
  }

  /** Returns the number of the tenant with this id; a new tenant gets the next number. */
  numberOf(id: string): number {
    return this.numberAt(this.#text, 0, this.#text.write(id));
  }

  /** Like `numberOf`, for an id that is given as bytes from `start` to `end`. */
  numberAt(bytes: Uint8Array, start: number, end: number): number {
    const pair = this.#find(bytes, start, end);
    const place = this.#table[pair + 1] as number;
    if (place > 0) return (this.#blocks[(place - 1) >>> NUMBER_BITS] as DataView).getUint32((place - 1) & NUMBER_MASK);
    const number = this.base + 1 + this.#size - this.#known;
    this.#add(bytes, start, end, number, pair);
    return number;
  }

  /** Returns the id of the tenant with this number. It searches all ids, so use it only for error messages. */
  idOf(number: number): string {
    for (const block of this.#blocks) {
      for (let at = 0; at + HEAD <= BLOCK_BYTES && lengthAt(block, at) > 0; at += HEAD + lengthAt(block, at)) {
        if (block.getUint32(at) === number) return Buffer.from(block.buffer, at + HEAD, lengthAt(block, at)).toString();
      }
    }
    throw new Error(`no tenant has the number ${number}`);
  }

  /** Returns the ids of the new tenants in the order of their numbers, and ends the map: any later look-up throws. */
  takeNew(): Iterable<string> {
    this.#table = new Int32Array();
    return idsIn(this.#blocks.splice(0), this.#known);
  }

  /**
   * Returns the index of an id's pair in the table. For a new id, stores the hash in a free pair and returns the index
   * of that pair.
   */
  #find(bytes: Uint8Array, start: number, end: number): number {
    const hash = hashOf(bytes, start, end);
    const table = this.#table;
    if (table.length === 0) throw new Error('the tenant numbers were taken already');
    const mask = table.length - 1;
    let pair = (hash << 1) & mask;
    for (let place = table[pair + 1] as number; place > 0; place = table[pair + 1] as number) {
      if (table[pair] === hash && this.#isAt(place - 1, bytes, start, end)) return pair;
      pair = (pair + 2) & mask;
    }
    table[pair] = hash;
    return pair;
  }

  #isAt(place: number, bytes: Uint8Array, start: number, end: number): boolean {
    const block = this.#blocks[place >>> NUMBER_BITS] as DataView;
    const head = place & NUMBER_MASK;
    if (lengthAt(block, head) !== end - start) return false;
    for (let from = start, to = head + HEAD; from < end; from += 1, to += 1) {
      if (block.getUint8(to) !== bytes[from]) return false;
    }
    return true;
  }

  #add(bytes: Uint8Array, start: number, end: number, number: number, pair: number): void {
    const length = end - start;
    if (length > LONGEST) throw new Error(`an id of ${length} bytes is too long`);
    if (this.#used + HEAD + length > BLOCK_BYTES) {
      this.#blocks.push(new DataView(new ArrayBuffer(BLOCK_BYTES)));
      this.#used = 0;
    }
    const block = this.#blocks.at(-1) as DataView;
    const head = this.#used;
    block.setUint32(head, number);
    block.setUint16(head + 4, length);
    new Uint8Array(block.buffer, head + HEAD, length).set(bytes.subarray(start, end));
    this.#used = head + HEAD + length;
    this.#size += 1;
    this.#table[pair + 1] = (this.#blocks.length - 1) * BLOCK_BYTES + head + 1;
    // Grows the table when three quarters of its pairs are in use.
    if (this.#size * 8 > this.#table.length * 3) this.#growTable();
  }

  #growTable(): void {
    const old = this.#table;
    const table = new Int32Array(old.length * 2);
    const mask = table.length - 1;
    for (let from = 0; from < old.length; from += 2) {
      if (old[from + 1] === 0) continue;
      const hash = old[from] as number;
      let pair = (hash << 1) & mask;
      while (table[pair + 1] !== 0) pair = (pair + 2) & mask;
      table[pair] = hash;
      table[pair + 1] = old[from + 1] as number;
    }
    this.#table = table;
  }
}

/** Yields the ids that the blocks hold, without the first `skip` of them. */
function* idsIn(blocks: readonly DataView[], skip: number): Generator<string> {
  let place = 0;
  for (const block of blocks) {
    for (let at = 0; at + HEAD <= BLOCK_BYTES && lengthAt(block, at) > 0; at += HEAD + lengthAt(block, at)) {
      place += 1;
      if (place > skip) yield Buffer.from(block.buffer, at + HEAD, lengthAt(block, at)).toString();
    }
  }
}

function lengthAt(block: DataView, head: number): number {
  return block.getUint16(head + 4);
}

/** The start value of every hash. It is random, so that nobody can choose tenant ids that all have the same hash. */
const SEED = systemRandomness.bytes(4).readUInt32LE();

/** Returns the FNV-1a hash of the bytes. Its bits are mixed once more, because ids mostly differ only at their ends. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = SEED;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
