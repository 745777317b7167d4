import { randomInt } from 'node:crypto';

const FIRST_CAPACITY = 1024;
const FNV_PRIME = 16_777_619;
/** No name is so long that the text's first guess of its bytes does not hold it. */
const BYTES_PER_CODE_UNIT = 3;

/**
 * Numbers of tenants by the UTF-8 bytes of their ids: a hash table with open addressing over one block of bytes. Looking
 * up the bytes of a page needs no string, and costs a third of a look-up in a Map.
 */
export class TenantIndex {
  /** Positions into the columns below, plus one; 0 is free. Never more than half full. */
  #slots = new Uint32Array(FIRST_CAPACITY * 2);
  #hashes = new Int32Array(FIRST_CAPACITY);
  #tenantKeys = new Uint32Array(FIRST_CAPACITY);
  /** Where each id ends in `#bytes`; it begins where the one before ends. */
  #ends = new Uint32Array(FIRST_CAPACITY);
  #bytes = new Uint8Array(FIRST_CAPACITY * 32);
  #size = 0;
  #scratch = new Uint8Array(256);
  readonly #encoder = new TextEncoder();
  /** Tenants choose their names: nobody may know which of them collide. */
  readonly #seed = randomInt(2 ** 32) | 0;

  get size(): number {
    return this.#size;
  }

  /** The number of the tenant whose id stands in `bytes`; `missing()` gives the number of one that is new. */
  keyOf(bytes: Uint8Array, from: number, to: number, missing: () => number): number {
    const hash = this.#hash(bytes, from, to);
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (let entry = this.#slots[slot] as number; entry !== 0; entry = this.#slots[slot] as number) {
      if (this.#hashes[entry - 1] === hash && this.#holds(entry - 1, bytes, from, to)) {
        return this.#tenantKeys[entry - 1] as number;
      }
      slot = (slot + 1) & mask;
    }
    const tenantKey = missing();
    this.#append(hash, bytes, from, to, tenantKey);
    return tenantKey;
  }

  /** The same by text, which must be well-formed Unicode. */
  keyOfText(tenantId: string, missing: () => number): number {
    const longest = tenantId.length * BYTES_PER_CODE_UNIT;
    if (longest > this.#scratch.length) this.#scratch = new Uint8Array(longest);
    const { written } = this.#encoder.encodeInto(tenantId, this.#scratch);
    return this.keyOf(this.#scratch, 0, written, missing);
  }

  #holds(at: number, bytes: Uint8Array, from: number, to: number): boolean {
    const start = at === 0 ? 0 : (this.#ends[at - 1] as number);
    const length = to - from;
    if ((this.#ends[at] as number) - start !== length) return false;
    const known = this.#bytes;
    for (let offset = 0; offset < length; offset += 1) if (known[start + offset] !== bytes[from + offset]) return false;
    return true;
  }

  /** FNV-1a, and a last mixing because the low bits choose the slot. */
  #hash(bytes: Uint8Array, from: number, to: number): number {
    let hash = this.#seed;
    for (let at = from; at < to; at += 1) hash = Math.imul(hash ^ (bytes[at] as number), FNV_PRIME);
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
    return hash ^ (hash >>> 16);
  }

  #append(hash: number, bytes: Uint8Array, from: number, to: number, tenantKey: number): void {
    const at = this.#size;
    const start = at === 0 ? 0 : (this.#ends[at - 1] as number);
    if (at === this.#hashes.length) this.#grow();
    if (start + to - from > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(start + to - from, this.#bytes.length * 2));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#bytes.set(bytes.subarray(from, to), start);
    this.#ends[at] = start + to - from;
    this.#hashes[at] = hash;
    this.#tenantKeys[at] = tenantKey;
    this.#size = at + 1;
    this.#occupy(hash, at + 1);
  }

  #occupy(hash: number, entry: number): void {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask;
    this.#slots[slot] = entry;
  }

  #grow(): void {
    const capacity = this.#size * 2;
    this.#hashes = grown(this.#hashes, new Int32Array(capacity));
    this.#tenantKeys = grown(this.#tenantKeys, new Uint32Array(capacity));
    this.#ends = grown(this.#ends, new Uint32Array(capacity));
    this.#slots = new Uint32Array(capacity * 2);
    for (let at = 0; at < this.#size; at += 1) this.#occupy(this.#hashes[at] as number, at + 1);
  }
}

function grown<Column extends Int32Array | Uint32Array>(from: Column, to: Column): Column {
  to.set(from);
  return to;
}
