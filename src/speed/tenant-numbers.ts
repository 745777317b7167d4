import { systemRandomness } from '../core/randomness.ts';

/** Bytes per block, a power of two. */
const NUMBERS_PER_BLOCK = 1 << 16;
const NUMBER_BITS = Math.log2(NUMBERS_PER_BLOCK);
const NUMBER_MASK = NUMBERS_PER_BLOCK - 1;
/** Bytes before each id: its tenant number, 32 bits, and its length in bytes, 16 bits. */
const HEAD = 6;
const LONGEST = NUMBERS_PER_BLOCK - HEAD;

/**
 * The numbers of tenants by id. Ids are stored as UTF-8 bytes: a million take half the memory of a Map of strings, and
 * ids read as bytes need no conversion.
 */
export class TenantNumbers {
  /** One less than the number of the first new tenant. */
  readonly base: number;
  readonly #blocks: DataView[] = [];
  /** Bytes used in the last block. */
  #used = NUMBERS_PER_BLOCK;
  #size = 0;
  #known = 0;
  /**
   * Pairs of an id's hash and the position of its head in the blocks, from 1; 0 is free. The number of pairs is a power
   * of two.
   */
  #table = new Int32Array(2 * 2048);
  readonly #text = Buffer.alloc(NUMBERS_PER_BLOCK);

  constructor(base: number) {
    this.base = base;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a tenant of the ledger. Call it before any new tenant is numbered. */
  addKnown(id: string, number: number): void {
    const length = this.#text.write(id);
    this.#add(this.#text, 0, length, number, this.#find(this.#text, 0, length));
    this.#known = this.#size;
  }

  numberOf(id: string): number {
    return this.numberAt(this.#text, 0, this.#text.write(id));
  }

  /** Returns the number of the tenant with this id; a new tenant gets the next number. */
  numberAt(bytes: Uint8Array, start: number, end: number): number {
    const pair = this.#find(bytes, start, end);
    const place = this.#table[pair + 1] as number;
    if (place > 0) return (this.#blocks[(place - 1) >>> NUMBER_BITS] as DataView).getUint32((place - 1) & NUMBER_MASK);
    const number = this.base + 1 + this.#size - this.#known;
    this.#add(bytes, start, end, number, pair);
    return number;
  }

  /** Returns the id of a tenant by its number. Reads all ids, so only for error messages. */
  idOf(number: number): string {
    for (const block of this.#blocks) {
      for (let at = 0; at + HEAD <= NUMBERS_PER_BLOCK && lengthAt(block, at) > 0; at += HEAD + lengthAt(block, at)) {
        if (block.getUint32(at) === number) return Buffer.from(block.buffer, at + HEAD, lengthAt(block, at)).toString();
      }
    }
    throw new Error(`no tenant has the number ${number}`);
  }

  /** Returns the ids of new tenants in the order of their numbers; looking up a tenant afterwards fails. */
  takeNew(): Iterable<string> {
    this.#table = new Int32Array();
    return idsIn(this.#blocks.splice(0), this.#known);
  }

  /** Returns the pair of an id, or a free pair for it, with the hash already set. */
  #find(bytes: Uint8Array, start: number, end: number): number {
    const hash = hashOf(bytes, start, end);
    const table = this.#table;
    if (table.length === 0) throw new Error('the walks have ended');
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
    if (this.#used + HEAD + length > NUMBERS_PER_BLOCK) {
      this.#blocks.push(new DataView(new ArrayBuffer(NUMBERS_PER_BLOCK)));
      this.#used = 0;
    }
    const block = this.#blocks.at(-1) as DataView;
    const head = this.#used;
    block.setUint32(head, number);
    block.setUint16(head + 4, length);
    new Uint8Array(block.buffer, head + HEAD, length).set(bytes.subarray(start, end));
    this.#used = head + HEAD + length;
    this.#size += 1;
    this.#table[pair + 1] = (this.#blocks.length - 1) * NUMBERS_PER_BLOCK + head + 1;
    // Three quarters full.
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

/** Yields the ids in the blocks, except the first `without`. */
function* idsIn(blocks: readonly DataView[], without: number): Generator<string> {
  let place = 0;
  for (const block of blocks) {
    for (let at = 0; at + HEAD <= NUMBERS_PER_BLOCK && lengthAt(block, at) > 0; at += HEAD + lengthAt(block, at)) {
      place += 1;
      if (place > without) yield Buffer.from(block.buffer, at + HEAD, lengthAt(block, at)).toString();
    }
  }
}

function lengthAt(block: DataView, head: number): number {
  return block.getUint16(head + 4);
}

/** Random, so that whoever names tenants cannot provoke collisions. */
const SEED = systemRandomness.bytes(4).readUInt32LE();

/** FNV-1a with its bits mixed once more, because ids differ mostly in their last characters. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = SEED;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
