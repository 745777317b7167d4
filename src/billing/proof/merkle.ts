import { hash } from 'node:crypto';

/**
 * Merkle trees as RFC 9162, section 2, hashes them: SHA-256, a leaf is `SHA-256(0x00 || content)`, a node is
 * `SHA-256(0x01 || left || right)`, and a tree of n leaves splits at the largest power of two below n.
 */
const LEAF = '\0';
const NODE = 1;
const HASH_BYTES = 32;
/** Leaves of a new tree; its memory doubles when they are used up. */
const FIRST_LEAVES = 1024;

export function leafHash(content: string): Buffer {
  return sha256(LEAF + content);
}

/**
 * A tree that grows by its leaves. The hashes of a level lie side by side: a million leaves are 64 MB, not a million
 * objects. All subtrees' roots are kept once one was asked for, so that a proof costs one look-up a level.
 */
export class MerkleTree {
  #leaves: Buffer = Buffer.allocUnsafe(FIRST_LEAVES * HASH_BYTES);
  #size = 0;
  /** From the leaves up; null until they are asked for. A node without a sibling rises unchanged: the RFC's split. */
  #levels: Buffer[] | null = null;

  get size(): number {
    return this.#size;
  }

  /** Adds a leaf of this content, and gives its place. */
  add(content: string): number {
    const at = this.#size * HASH_BYTES;
    if (at === this.#leaves.length) this.#leaves = Buffer.concat([this.#leaves], at * 2);
    leafHash(content).copy(this.#leaves, at);
    this.#levels = null;
    this.#size += 1;
    return this.#size - 1;
  }

  /** The hash of the whole; of an empty tree that of no bytes. */
  get root(): Buffer {
    return this.#size === 0 ? sha256('') : (this.#allLevels().at(-1) as Buffer);
  }

  /**
   * The hashes beside the path from a leaf to the root, from the leaf up.
   *
   * @throws RangeError when there is no such leaf.
   */
  inclusionProof(index: number): Buffer[] {
    if (!Number.isInteger(index) || index < 0 || index >= this.#size) {
      throw new RangeError(`leaf ${index} of ${this.#size}`);
    }
    return this.#allLevels().flatMap((level, height) => {
      const at = (Math.floor(index / 2 ** height) ^ 1) * HASH_BYTES;
      return at < level.length ? [level.subarray(at, at + HASH_BYTES)] : [];
    });
  }

  #allLevels(): Buffer[] {
    if (this.#levels === null) {
      const levels: Buffer[] = [this.#leaves.subarray(0, this.#size * HASH_BYTES)];
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
  const size = level.length / HASH_BYTES;
  const next = Buffer.allocUnsafe(Math.ceil(size / 2) * HASH_BYTES);
  const pair = 2 * HASH_BYTES;
  const node = Buffer.alloc(1 + pair, NODE);
  for (let at = 0; at + pair <= level.length; at += pair) {
    level.copy(node, 1, at, at + pair);
    sha256(node).copy(next, at / 2);
  }
  if (size % 2 === 1) level.copy(next, next.length - HASH_BYTES, level.length - HASH_BYTES);
  return next;
}

function parent(left: Buffer, right: Buffer): Buffer {
  return sha256(Buffer.concat([Buffer.of(NODE), left, right]));
}

/** In one call: a hash object each would take most of the time of a large tree. */
function sha256(content: string | Buffer): Buffer {
  return hash('sha256', content, 'buffer');
}
