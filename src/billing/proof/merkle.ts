import { hash } from 'node:crypto';

/**
 * Merkle trees as RFC 9162, section 2, hashes them: SHA-256, a leaf is `SHA-256(0x00 || content)`, a node is
 * `SHA-256(0x01 || left || right)`, and a tree of n leaves splits at the largest power of two below n.
 */
const LEAF = '\0';
const NODE = 1;
export const HASH_BYTES = 32;
/** Leaves of a new tree; its memory doubles when they are used up. */
const FIRST_LEAVES = 1024;

export function leafHash(content: string): Buffer {
  return sha256(LEAF + content);
}

/** The hashes of leaves, side by side: a million are 32 MB, not a million objects. */
export class LeafHashes {
  #hashes: Buffer = Buffer.allocUnsafe(FIRST_LEAVES * HASH_BYTES);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get bytes(): Buffer {
    return this.#hashes.subarray(0, this.#size * HASH_BYTES);
  }

  /** Adds a leaf of this content, and gives its place. */
  add(content: string): number {
    const at = this.#size * HASH_BYTES;
    if (at === this.#hashes.length) this.#hashes = Buffer.concat([this.#hashes], at * 2);
    leafHash(content).copy(this.#hashes, at);
    this.#size += 1;
    return this.#size - 1;
  }

  /** Puts the leaves into the order of their hashes. */
  sort(): void {
    this.#hashes = sorted(this.bytes);
  }
}

/** A tree that grows by its leaves. All subtrees' roots are kept once one was asked for, so that a proof costs one look-up a level. */
export class MerkleTree {
  readonly #leaves = new LeafHashes();
  /** From the leaves up; null until they are asked for. A node without a sibling rises unchanged: the RFC's split. */
  #levels: Buffer[] | null = null;

  get size(): number {
    return this.#leaves.size;
  }

  /** Adds a leaf of this content, and gives its place. */
  add(content: string): number {
    this.#levels = null;
    return this.#leaves.add(content);
  }

  /** The hash of the whole; of an empty tree that of no bytes. */
  get root(): Buffer {
    return this.size === 0 ? sha256('') : (this.#allLevels().at(-1) as Buffer);
  }

  /**
   * The hashes beside the path from a leaf to the root, from the leaf up.
   *
   * @throws RangeError when there is no such leaf.
   */
  inclusionProof(index: number): Buffer[] {
    if (!Number.isInteger(index) || index < 0 || index >= this.size) {
      throw new RangeError(`leaf ${index} of ${this.size}`);
    }
    return this.#allLevels().flatMap((level, height) => {
      const at = (Math.floor(index / 2 ** height) ^ 1) * HASH_BYTES;
      return at < level.length ? [level.subarray(at, at + HASH_BYTES)] : [];
    });
  }

  #allLevels(): Buffer[] {
    if (this.#levels === null) {
      const levels: Buffer[] = [this.#leaves.bytes];
      for (let level = levels[0] as Buffer; level.length > HASH_BYTES; levels.push(level)) level = parents(level);
      this.#levels = levels;
    }
    return this.#levels;
  }
}

/** The root that a leaf and its proof lead to (RFC 9162, 2.1.3.2), or null when the proof has not the right length. */
export function rootFromProof(
  leaf: Buffer,
  { index, size }: { index: number; size: number },
  proof: readonly Buffer[],
): Buffer | null {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return null;
  let found = leaf;
  let node = index;
  let last = size - 1;
  for (const sibling of proof) {
    if (last === 0) return null;
    if (node % 2 === 1 || node === last) {
      found = parent(sibling, found);
      while (node % 2 === 0 && node !== 0) {
        node /= 2;
        last = Math.floor(last / 2);
      }
    } else {
      found = parent(found, sibling);
    }
    node = Math.floor(node / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 ? found : null;
}

function parents(level: Buffer): Buffer {
  const paired = parentsOfPairs(level);
  const isOdd = (level.length / HASH_BYTES) % 2 === 1;
  return isOdd ? Buffer.concat([paired, level.subarray(-HASH_BYTES)]) : paired;
}

function sorted(hashes: Buffer): Buffer {
  const size = hashes.length / HASH_BYTES;
  const starts = Float64Array.from({ length: size }, (_, at) => hashes.readUIntBE(at * HASH_BYTES, 6));
  const hashAt = (at: number): Buffer => hashes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES);
  const order = Uint32Array.from({ length: size }, (_, at) => at).sort(
    (a, b) => (starts[a] as number) - (starts[b] as number) || Buffer.compare(hashAt(a), hashAt(b)),
  );
  const result = Buffer.allocUnsafe(hashes.length);
  for (const [to, from] of order.entries()) hashAt(from).copy(result, to * HASH_BYTES);
  return result;
}

/** The nodes over each two hashes of a level, without a last one that has no sibling; `swapped`: the second is the left one. */
export function parentsOfPairs(level: Buffer, swapped = false): Buffer {
  const pair = 2 * HASH_BYTES;
  const next = Buffer.allocUnsafe(Math.floor(level.length / pair) * HASH_BYTES);
  const node = Buffer.alloc(1 + pair, NODE);
  const [first, second] = swapped ? [1 + HASH_BYTES, 1] : [1, 1 + HASH_BYTES];
  for (let at = 0; at + pair <= level.length; at += pair) {
    level.copy(node, first, at, at + HASH_BYTES);
    level.copy(node, second, at + HASH_BYTES, at + pair);
    sha256(node).copy(next, at / 2);
  }
  return next;
}

export function parent(left: Buffer, right: Buffer): Buffer {
  return sha256(Buffer.concat([Buffer.of(NODE), left, right]));
}

/** In one call: a hash object each would take most of the time of a large tree. */
function sha256(content: string | Buffer): Buffer {
  return hash('sha256', content, 'buffer');
}
