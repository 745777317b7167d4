import { createHash } from 'node:crypto';

/**
 * Merkle trees as RFC 9162, section 2, hashes them: SHA-256, a leaf is `SHA-256(0x00 || content)`, a node is
 * `SHA-256(0x01 || left || right)`, and a tree of n leaves splits at the largest power of two below n.
 */
const LEAF = Buffer.of(0);
const NODE = Buffer.of(1);

export function leafHash(content: string): Buffer {
  return createHash('sha256').update(LEAF).update(content, 'utf8').digest();
}

/** The tree over these leaves' hashes; all its levels are kept, so that a proof costs one look-up a level. */
export class MerkleTree {
  /** From the leaves up. A node without a sibling rises unchanged, which is the RFC's split. */
  readonly #levels: Buffer[][];

  constructor(leaves: readonly Buffer[]) {
    const levels: Buffer[][] = [[...leaves]];
    for (let level = levels[0] ?? []; level.length > 1; levels.push(level)) level = parents(level);
    this.#levels = levels;
  }

  get size(): number {
    return this.#levels[0]?.length ?? 0;
  }

  /** The hash of the whole; of an empty tree that of no bytes. */
  get root(): Buffer {
    return this.#levels.at(-1)?.[0] ?? createHash('sha256').digest();
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
    return this.#levels.flatMap((level, height) => {
      const sibling = level[Math.floor(index / 2 ** height) ^ 1];
      return sibling === undefined ? [] : [sibling];
    });
  }
}

/** The root that a leaf and its proof lead to (RFC 9162, 2.1.3.2), or null when the proof has not the right length. */
export function rootFromProof(
  leaf: Buffer,
  { index, size }: { index: number; size: number },
  proof: readonly Buffer[],
): Buffer | null {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return null;
  let hash = leaf;
  let node = index;
  let last = size - 1;
  for (const sibling of proof) {
    if (last === 0) return null;
    if (node % 2 === 1 || node === last) {
      hash = parent(sibling, hash);
      while (node % 2 === 0 && node !== 0) {
        node /= 2;
        last = Math.floor(last / 2);
      }
    } else {
      hash = parent(hash, sibling);
    }
    node = Math.floor(node / 2);
    last = Math.floor(last / 2);
  }
  return last === 0 ? hash : null;
}

function parents(level: readonly Buffer[]): Buffer[] {
  const next: Buffer[] = [];
  for (let index = 0; index < level.length; index += 2) {
    const left = level[index] as Buffer;
    const right = level[index + 1];
    next.push(right === undefined ? left : parent(left, right));
  }
  return next;
}

function parent(left: Buffer, right: Buffer): Buffer {
  return createHash('sha256').update(NODE).update(left).update(right).digest();
}
