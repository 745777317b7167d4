import { randomInt } from 'node:crypto';

const FIRST_CAPACITY = 1024;
/** The part of its slots that a table may have in use. */
const FULL = 2 / 3;
const FIRST_BYTES = 32 * 1024;
const FNV_PRIME = 16_777_619;
/** UTF-8 needs at most this many bytes for one unit of a JavaScript string. */
const BYTES_PER_UNIT = 3;

/** Numbers in a slot of the table, side by side because each look-up in memory that is not near costs the same again. */
const SLOT = 4;
const [HASH, TENANT_KEY, START, LENGTH_PLUS_ONE] = [0, 1, 2, 3] as const;

/** Where ids stand in a block of bytes. */
export interface IdPlaces {
  starts: Uint32Array;
  ends: Uint32Array;
  count: number;
}

/**
 * Numbers of tenants by the UTF-8 bytes of their ids: a hash table with open addressing, beside one block that holds the
 * bytes of all ids. Looking up the bytes of a page needs no string, and costs a fraction of a look-up in a Map.
 */
export class TenantIndex {
  /** A slot is free when its `LENGTH_PLUS_ONE` is 0. Never fuller than `FULL`. */
  #table: Uint32Array<ArrayBuffer>;
  #bytes = new Uint8Array(FIRST_BYTES);
  #bytesUsed = 0;
  /** Where in `#bytes` each id ends, in the order in which they were added. */
  #ends = new Uint32Array(FIRST_CAPACITY);
  #size = 0;
  #scratch = new Uint8Array(256);
  #hashes = new Uint32Array(128);
  #slots = new Uint32Array(128);
  readonly #encoder = new TextEncoder();
  /** Tenants choose their names: nobody may know which of them collide. */
  readonly #seed = randomInt(2 ** 32);

  /** Holds `expected` ids without having to grow. */
  constructor(expected = 0) {
    let capacity = FIRST_CAPACITY;
    while (expected > capacity * FULL) capacity *= 2;
    this.#table = new Uint32Array(capacity * SLOT);
  }

  /** The ids from this one on, counted from 0 in the order in which they were added. */
  *idsFrom(first: number): Generator<string> {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    let start = first === 0 ? 0 : (this.#ends[first - 1] as number);
    for (const end of this.#ends.subarray(first, this.#size)) {
      yield decoder.decode(this.#bytes.subarray(start, end));
      start = end;
    }
  }

  get size(): number {
    return this.#size;
  }

  /**
   * The number of each tenant whose id stands in `bytes`, into `tenantKeys`; `missing` gives the number of one that is
   * new. One pass for each place in memory that an id leads to: so the waits for them overlap.
   */
  keysOf(
    bytes: Uint8Array,
    { starts, ends, count }: IdPlaces,
    tenantKeys: Uint32Array,
    missing: (from: number, to: number) => number,
  ): void {
    if (count > this.#hashes.length) {
      this.#hashes = new Uint32Array(count * 2);
      this.#slots = new Uint32Array(count * 2);
    }
    const hashes = this.#hashes;
    const slots = this.#slots;
    for (let id = 0; id < count; id += 1) {
      hashes[id] = this.#hash(bytes, starts[id] as number, ends[id] as number);
    }
    for (let id = 0; id < count; id += 1) slots[id] = this.#probe(hashes[id] as number);
    for (let id = 0; id < count; id += 1) {
      const from = starts[id] as number;
      const to = ends[id] as number;
      // An id that was added meanwhile may have moved this slot; one that holds these bytes is right all the same.
      const slot = slots[id] as number;
      tenantKeys[id] = this.#holds(slot, bytes, from, to)
        ? (this.#table[slot + TENANT_KEY] as number)
        : this.#findOrAdd(hashes[id] as number, bytes, from, to, missing);
    }
  }

  /** Adds ids that stand one after the other in `bytes`, by their lengths, with their numbers. */
  addAll(bytes: Uint8Array, lengths: readonly number[], tenantKeys: readonly number[]): void {
    let at = 0;
    let from = 0;
    const tenantKey = () => tenantKeys[at] as number;
    for (; at < lengths.length; at += 1) {
      const to = from + (lengths[at] as number);
      this.#findOrAdd(this.#hash(bytes, from, to), bytes, from, to, tenantKey);
      from = to;
    }
  }

  /** The number of one tenant by text, which must be well-formed Unicode; `missing` gives that of a new one. */
  keyOfText(tenantId: string, missing: () => number): number {
    const longest = tenantId.length * BYTES_PER_UNIT;
    if (longest > this.#scratch.length) this.#scratch = new Uint8Array(longest);
    const { written } = this.#encoder.encodeInto(tenantId, this.#scratch);
    return this.#findOrAdd(this.#hash(this.#scratch, 0, written), this.#scratch, 0, written, missing);
  }

  #findOrAdd(
    hash: number,
    bytes: Uint8Array,
    from: number,
    to: number,
    missing: (from: number, to: number) => number,
  ): number {
    const mask = this.#table.length - 1;
    let slot = this.#probe(hash);
    while (this.#table[slot + LENGTH_PLUS_ONE] !== 0) {
      if (this.#holds(slot, bytes, from, to)) return this.#table[slot + TENANT_KEY] as number;
      slot = (slot + SLOT) & mask;
    }
    const tenantKey = missing(from, to);
    const table = this.#table;
    table[slot + HASH] = hash;
    table[slot + TENANT_KEY] = tenantKey;
    table[slot + START] = this.#append(bytes, from, to);
    table[slot + LENGTH_PLUS_ONE] = to - from + 1;
    if (this.#size === this.#ends.length) this.#ends = grown(this.#ends);
    this.#ends[this.#size] = this.#bytesUsed;
    this.#size += 1;
    if (this.#size > (this.#table.length / SLOT) * FULL) this.#grow();
    return tenantKey;
  }

  /** The first slot that ids of this hash may stand in: one of the same hash, or a free one. */
  #probe(hash: number): number {
    const table = this.#table;
    const mask = table.length - 1;
    let slot = (hash * SLOT) & mask;
    while (table[slot + HASH] !== hash && table[slot + LENGTH_PLUS_ONE] !== 0) slot = (slot + SLOT) & mask;
    return slot;
  }

  #holds(slot: number, bytes: Uint8Array, from: number, to: number): boolean {
    const length = to - from;
    if (this.#table[slot + LENGTH_PLUS_ONE] !== length + 1) return false;
    const known = this.#bytes;
    const start = this.#table[slot + START] as number;
    for (let offset = 0; offset < length; offset += 1) if (known[start + offset] !== bytes[from + offset]) return false;
    return true;
  }

  /** FNV-1a, and a last mixing because the low bits choose the slot. */
  #hash(bytes: Uint8Array, from: number, to: number): number {
    let hash = this.#seed;
    for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ (bytes[at] as number), FNV_PRIME);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return (hash ^ (hash >>> 16)) >>> 0;
  }

  /** Keeps the bytes of an id and says where. */
  #append(bytes: Uint8Array, from: number, to: number): number {
    const start = this.#bytesUsed;
    this.#bytesUsed = start + to - from;
    if (this.#bytesUsed > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#bytesUsed, this.#bytes.length * 2));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    const kept = this.#bytes;
    // Ids are short: a loop is faster than a call.
    for (let at = from; at < to; at += 1) kept[start + at - from] = bytes[at] as number;
    return start;
  }

  #grow(): void {
    const before = this.#table;
    const after = new Uint32Array(before.length * 2);
    this.#table = after;
    const mask = after.length - 1;
    for (let from = 0; from < before.length; from += SLOT) {
      if (before[from + LENGTH_PLUS_ONE] === 0) continue;
      let slot = ((before[from + HASH] as number) * SLOT) & mask;
      while (after[slot + LENGTH_PLUS_ONE] !== 0) slot = (slot + SLOT) & mask;
      for (let part = 0; part < SLOT; part += 1) after[slot + part] = before[from + part] as number;
    }
  }
}

function grown(from: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(from.length * 2);
  larger.set(from);
  return larger;
}
