import type { CloseSalt } from './close-salt.ts';
import { HASH_BYTES, LeafHashes, leafHash, parent, parentsOfPairs } from './merkle.ts';

/** Every path has as many hashes, up to 16.7 million leaves, so that its length says nothing of their number. */
const PATH_HASHES = 24;

/** The way from a leaf to the root: hashes from below; a bit of `index` is 1 where the leaf's side is the right one. */
export interface SaltedPath {
  index: number;
  path: Buffer[];
}

/**
 * The tree of a close since closes are salted, hashed like that of RFC 9162. The leaves stand in the order of their hashes,
 * so that a place says nothing of its neighbours; a node without a sibling has a pad of its level beside it; and the sides of
 * whole levels are exchanged by the salt's mask. So a path looks the same whether there are two leaves or millions.
 */
export class SaltedTree {
  readonly #leaves = new LeafHashes();
  readonly #salt: CloseSalt;
  /** From the leaves up, each with its pad; null until they are asked for. */
  #built: { levels: Buffer[]; root: Buffer } | null = null;

  constructor(salt: CloseSalt) {
    this.#salt = salt;
  }

  get size(): number {
    return this.#leaves.size;
  }

  add(content: string): void {
    this.#built = null;
    this.#leaves.add(content);
  }

  get root(): Buffer {
    return this.#build().root;
  }

  /** @throws RangeError when there is no leaf of this content. */
  pathOf(content: string): SaltedPath {
    const { levels } = this.#build();
    const place = placeOf(leafHash(content), levels[0] as Buffer, this.size);
    const path = levels.map((level, height) => {
      const at = (Math.floor(place / 2 ** height) ^ 1) * HASH_BYTES;
      return level.subarray(at, at + HASH_BYTES);
    });
    return { index: (place ^ this.#salt.mask) & (2 ** levels.length - 1), path };
  }

  #build(): { levels: Buffer[]; root: Buffer } {
    if (this.#built === null) {
      const { mask } = this.#salt;
      const levels: Buffer[] = [];
      this.#leaves.sort();
      let level = this.#leaves.bytes;
      const height = Math.max(PATH_HASHES, Math.ceil(Math.log2(this.size)));
      while (levels.length < height) {
        const isFull = (level.length / HASH_BYTES) % 2 === 0;
        const padded = isFull ? level : Buffer.concat([level, this.#salt.pad(levels.length)]);
        level = parentsOfPairs(padded, ((mask >>> levels.length) & 1) === 1);
        levels.push(padded);
      }
      this.#built = { levels, root: level };
    }
    return this.#built;
  }
}

/** The root that a leaf and its path lead to; null when the index has more bits than the path hashes. */
export function rootFromPath(leaf: Buffer, { index, path }: { index: number; path: readonly Buffer[] }): Buffer | null {
  if (!Number.isSafeInteger(index) || index < 0) return null;
  let found = leaf;
  let left = index;
  for (const sibling of path) {
    found = left % 2 === 1 ? parent(sibling, found) : parent(found, sibling);
    left = Math.floor(left / 2);
  }
  return left === 0 ? found : null;
}

function placeOf(hash: Buffer, leaves: Buffer, size: number): number {
  let [low, high] = [0, size];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const order = leaves.compare(hash, 0, HASH_BYTES, middle * HASH_BYTES, (middle + 1) * HASH_BYTES);
    if (order === 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  throw new RangeError('the tree has no such leaf');
}
