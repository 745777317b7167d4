import { createHash } from 'node:crypto';
import { periodOfKey } from '../../store/schema/keys.ts';

/**
 * The set of (period, tenant) keys in a walk, one bit per key. Finding repeated and missing keys takes milliseconds per
 * million keys; with GROUP BY in SQL, it would take tenths of a second.
 */
export class KeySet {
  readonly #bitsOfPeriod = new Map<number, BitSet>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Returns the bits of one period, which are created on first use. */
  period(periodKey: number): BitSet {
    let bits = this.#bitsOfPeriod.get(periodKey);
    if (bits === undefined) {
      bits = new BitSet();
      this.#bitsOfPeriod.set(periodKey, bits);
    }
    return bits;
  }

  /** Adds a key; returns false when it was already present. */
  add(bits: BitSet, tenantKey: number): boolean {
    if (!bits.set(tenantKey)) return false;
    this.#size += 1;
    return true;
  }

  has(periodKey: number, tenantKey: number): boolean {
    return this.#bitsOfPeriod.get(periodKey)?.has(tenantKey) ?? false;
  }

  sizeOf(periodKey: number): number {
    return this.#bitsOfPeriod.get(periodKey)?.count ?? 0;
  }

  equals(other: KeySet): boolean {
    if (this.#size !== other.#size) return false;
    for (const [periodKey, bits] of this.#bitsOfPeriod) {
      const others = other.#bitsOfPeriod.get(periodKey);
      if (others === undefined ? bits.used().length > 0 : !bits.used().equals(others.used())) return false;
    }
    return true;
  }

  /** Returns a copy of the set in which `shift` is added to each tenant number above `base`. */
  shifted(base: number, shift: number): KeySet {
    const moved = new KeySet();
    for (const [periodKey, bits] of this.#bitsOfPeriod) {
      const target = moved.period(periodKey);
      for (const tenantKey of bits) moved.add(target, tenantKey > base ? tenantKey + shift : tenantKey);
    }
    return moved;
  }

  /**
   * Returns a SHA-256, hex, over each period in order: its name, a line feed, and its bits without trailing zero bytes
   * (tenant number n is bit n % 8 of byte n / 8). It depends only on the set, not on the order of reading.
   */
  digest(): string {
    const hash = createHash('sha256');
    for (const [periodKey, bits] of [...this.#bitsOfPeriod].sort(([a], [b]) => a - b)) {
      const used = bits.used();
      if (used.length > 0) hash.update(`${periodOfKey(periodKey)}\n`).update(used);
    }
    return hash.digest('hex');
  }
}

export class BitSet implements Iterable<number> {
  #bytes = Buffer.alloc(256);
  #count = 0;

  get count(): number {
    return this.#count;
  }

  has(position: number): boolean {
    return ((this.#bytes[position >>> 3] ?? 0) & (1 << (position & 7))) !== 0;
  }

  /** Sets bit `position`; returns false when it was already set. */
  set(position: number): boolean {
    const at = position >>> 3;
    if (at >= this.#bytes.length) this.#grow(at);
    const mask = 1 << (position & 7);
    const byte = this.#bytes[at] as number;
    if ((byte & mask) !== 0) return false;
    this.#bytes[at] = byte | mask;
    this.#count += 1;
    return true;
  }

  /** Returns the bytes up to the last one that is not zero. */
  used(): Buffer {
    let length = this.#bytes.length;
    while (length > 0 && this.#bytes[length - 1] === 0) length -= 1;
    return this.#bytes.subarray(0, length);
  }

  *[Symbol.iterator](): Iterator<number> {
    for (const [at, byte] of this.used().entries()) {
      for (let bit = 0; bit < 8; bit += 1) if ((byte & (1 << bit)) !== 0) yield at * 8 + bit;
    }
  }

  #grow(at: number): void {
    const larger = Buffer.alloc(Math.max(at + 1, this.#bytes.length * 2));
    this.#bytes.copy(larger);
    this.#bytes = larger;
  }
}
