import { systemRandomness } from '../../../core/randomness.ts';

/** Bytes of a block, a power of two. */
const BLOCK = 1 << 16;
const BLOCK_BITS = Math.log2(BLOCK);
const IN_BLOCK = BLOCK - 1;
/** Before each id stand its tenant's number, 32 bits, and its length in bytes, 16 bits. */
const HEAD = 6;
const LONGEST = BLOCK - HEAD;

/**
 * The numbers of tenants by their ids, which are kept as bytes of UTF-8: of a million they take half the memory of a Map of
 * texts, and an id that comes as bytes need not become a text.
 */
export class TenantNumbers {
  /** The number that the first new tenant gets is one more. */
  readonly base: number;
  readonly #blocks: DataView[] = [];
  /** Bytes used of the last block. */
  #used = BLOCK;
  #size = 0;
  #known = 0;
  /** The hash of an id beside the place of its head in the blocks, from 1; 0 is none. As many pairs as a power of two. */
  #table = new Int32Array(2 * 2048);
  readonly #text = Buffer.alloc(BLOCK);

  constructor(base: number) {
    this.base = base;
  }

  get size(): number {
    return this.#size;
  }

  /** Adds a tenant that the ledger knows. Those that are new come after. */
  addKnown(id: string, number: number): void {
    const length = this.#text.write(id);
    this.#add(this.#text, 0, length, number, this.#find(this.#text, 0, length));
    this.#known = this.#size;
  }

  numberOf(id: string): number {
    return this.numberAt(this.#text, 0, this.#text.write(id));
  }

  /** The number of the tenant whose id these bytes are; of one that is met for the first time the next one. */
  numberAt(bytes: Uint8Array, start: number, end: number): number {
    const pair = this.#find(bytes, start, end);
    const place = this.#table[pair + 1] as number;
    if (place > 0) return (this.#blocks[(place - 1) >>> BLOCK_BITS] as DataView).getUint32((place - 1) & IN_BLOCK);
    const number = this.base + 1 + this.#size - this.#known;
    this.#add(bytes, start, end, number, pair);
    return number;
  }

  /** The id of a tenant by its number, found by reading all ids: for error messages. */
  idOf(number: number): string {
    for (const block of this.#blocks) {
      for (let at = 0; at + HEAD <= BLOCK && lengthAt(block, at) > 0; at += HEAD + lengthAt(block, at)) {
        if (block.getUint32(at) === number) return Buffer.from(block.buffer, at + HEAD, lengthAt(block, at)).toString();
      }
    }
    throw new Error(`no tenant has the number ${number}`);
  }

  /** The ids of tenants that were met for the first time, in the order of their numbers; whoever asks for one later fails. */
  takeNew(): Iterable<string> {
    this.#table = new Int32Array();
    return idsIn(this.#blocks.splice(0), this.#known);
  }

  /** Where the pair of the id stands in the table, or where its place is free: the hash stands there already. */
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
    const block = this.#blocks[place >>> BLOCK_BITS] as DataView;
    const head = place & IN_BLOCK;
    if (lengthAt(block, head) !== end - start) return false;
    for (let from = start, to = head + HEAD; from < end; from += 1, to += 1) {
      if (block.getUint8(to) !== bytes[from]) return false;
    }
    return true;
  }

  #add(bytes: Uint8Array, start: number, end: number, number: number, pair: number): void {
    const length = end - start;
    if (length > LONGEST) throw new Error(`an id of ${length} bytes is too long`);
    if (this.#used + HEAD + length > BLOCK) {
      this.#blocks.push(new DataView(new ArrayBuffer(BLOCK)));
      this.#used = 0;
    }
    const block = this.#blocks.at(-1) as DataView;
    const head = this.#used;
    block.setUint32(head, number);
    block.setUint16(head + 4, length);
    new Uint8Array(block.buffer, head + HEAD, length).set(bytes.subarray(start, end));
    this.#used = head + HEAD + length;
    this.#size += 1;
    this.#table[pair + 1] = (this.#blocks.length - 1) * BLOCK + head + 1;
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

/** Without so many of the first. */
function* idsIn(blocks: readonly DataView[], without: number): Generator<string> {
  let place = 0;
  for (const block of blocks) {
    for (let at = 0; at + HEAD <= BLOCK && lengthAt(block, at) > 0; at += HEAD + lengthAt(block, at)) {
      place += 1;
      if (place > without) yield Buffer.from(block.buffer, at + HEAD, lengthAt(block, at)).toString();
    }
  }
}

function lengthAt(block: DataView, head: number): number {
  return block.getUint16(head + 4);
}

/** Whoever names tenants cannot know which ids fall together. */
const SEED = systemRandomness.bytes(4).readUInt32LE();

/** FNV-1a with its bits mixed once more: ids differ in their last characters. */
function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = SEED;
  for (let at = start; at < end; at += 1) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return hash ^ (hash >>> 13);
}
