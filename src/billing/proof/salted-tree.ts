import { hash } from 'node:crypto';
import type { BilledTenant } from '../statement/billed.ts';
import type { LeafProof } from '../statement/document.ts';
import { encodePeriod, encodeTenant, type PeriodLeaf } from '../statement/leaf.ts';

/**
 * The first byte that is hashed tells leaves from nodes (RFC 9162, section 2): the hash of a leaf is `SHA-256(0x00 ||
 * content)`, that of a node is `SHA-256(0x01 || left || right)`.
 */
const LEAF = '\0';
const NODE = 1;
const HASH_BYTES = 32;
const FIRST_LEAVES = 1024;
/**
 * The number of hashes in every path, enough for 16.7 million leaves. The length of a path is fixed because it would
 * otherwise reveal the number of leaves.
 */
const PATH_HASHES = 24;

/**
 * The hashes that lead from a leaf to the root: the sibling at each level, lowest level first. `index` has one bit for
 * each level, lowest bit first. The bit is 1 if the node on the leaf's side is the right one of the pair.
 */
export interface SaltedPath {
  index: number;
  path: Buffer[];
}

/**
 * The Merkle tree of a close. A path in it reveals nothing about the other leaves or their number. The leaves are
 * sorted by hash, so the position of a leaf is unrelated to its content. A node without a sibling gets a secret hash (a
 * pad) as sibling. On some levels, chosen by a secret mask, left and right are swapped.
 */
class SaltedTree {
  /**
   * The hashes of all leaves in one buffer. A million leaves then take 32 MB; as separate objects they would take far
   * more.
   */
  #hashes: Buffer = Buffer.allocUnsafe(FIRST_LEAVES * HASH_BYTES);
  #size = 0;
  readonly #salt: CloseSalt;
  /** The hashes of each level, from the leaves up, including pads, and the root. Null until the tree is built. */
  #built: { levels: Buffer[]; root: Buffer } | null = null;

  constructor(salt: CloseSalt) {
    this.#salt = salt;
  }

  get size(): number {
    return this.#size;
  }

  add(content: string): void {
    const at = this.#size * HASH_BYTES;
    if (at === this.#hashes.length) this.#hashes = Buffer.concat([this.#hashes], at * 2);
    leafHash(content).copy(this.#hashes, at);
    this.#size += 1;
    this.#built = null;
  }

  get root(): Buffer {
    return this.#build().root;
  }

  /** Returns the path of the leaf with this content. Throws RangeError if the tree has no such leaf. */
  pathOf(content: string): SaltedPath {
    const { levels } = this.#build();
    const place = leafPosition(leafHash(content), levels[0] as Buffer, this.size);
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
      this.#hashes = sortHashes(this.#hashes.subarray(0, this.#size * HASH_BYTES));
      let level = this.#hashes;
      const height = Math.max(PATH_HASHES, Math.ceil(Math.log2(this.size)));
      while (levels.length < height) {
        const isFull = (level.length / HASH_BYTES) % 2 === 0;
        const padded = isFull ? level : Buffer.concat([level, this.#salt.pad(levels.length)]);
        level = parentsOf(padded, ((mask >>> levels.length) & 1) === 1);
        levels.push(padded);
      }
      this.#built = { levels, root: level };
    }
    return this.#built;
  }
}

/**
 * Returns the hash of a leaf. It is computed in one call, because creating a hash object for each leaf would take most
 * of the time in a large tree.
 */
function leafHash(content: string): Buffer {
  return hash('sha256', LEAF + content, 'buffer');
}

/**
 * Returns the hash of the parent of each pair on a level. If `swapped` is true, the second hash of each pair is the
 * left one.
 */
function parentsOf(level: Buffer, swapped: boolean): Buffer {
  const pair = 2 * HASH_BYTES;
  const next = Buffer.allocUnsafe(level.length / 2);
  const node = Buffer.alloc(1 + pair, NODE);
  const [first, second] = swapped ? [1 + HASH_BYTES, 1] : [1, 1 + HASH_BYTES];
  for (let at = 0; at < level.length; at += pair) {
    level.copy(node, first, at, at + HASH_BYTES);
    level.copy(node, second, at + HASH_BYTES, at + pair);
    hash('sha256', node, 'buffer').copy(next, at / 2);
  }
  return next;
}

function sortHashes(hashes: Buffer): Buffer {
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

function leafPosition(leaf: Buffer, leaves: Buffer, size: number): number {
  let [low, high] = [0, size];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const order = leaves.compare(leaf, 0, HASH_BYTES, middle * HASH_BYTES, (middle + 1) * HASH_BYTES);
    if (order === 0) return middle;
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  throw new RangeError('the tree has no such leaf');
}

/** The tree that a close commits to. It has one leaf for the period and one for the statement of each tenant. */
export class CommitTree {
  readonly #salt: CloseSalt;
  readonly #tree: SaltedTree;

  /** `salt` is the salt of the close in hex, as stored in the ledger. */
  constructor(salt: string) {
    this.#salt = new CloseSalt(salt);
    this.#tree = new SaltedTree(this.#salt);
  }

  get leaves(): number {
    return this.#tree.size;
  }

  get root(): string {
    return this.#tree.root.toString('hex');
  }

  addPeriod(period: PeriodLeaf): void {
    this.#tree.add(this.#encodePeriod(period));
  }

  addTenant(tenant: BilledTenant): void {
    this.#tree.add(this.#encodeTenant(tenant));
  }

  proofOfPeriod(period: PeriodLeaf): LeafProof {
    return this.#proofOf(this.#encodePeriod(period));
  }

  proofOfTenant(tenant: BilledTenant): LeafProof {
    return this.#proofOf(this.#encodeTenant(tenant));
  }

  #encodePeriod(period: PeriodLeaf): string {
    return encodePeriod(period, this.#salt.periodSalt);
  }

  #encodeTenant(tenant: BilledTenant): string {
    return encodeTenant(tenant, this.#salt.tenantSalt(tenant.tenantId));
  }

  #proofOf(leaf: string): LeafProof {
    const { index, path } = this.#tree.pathOf(leaf);
    return { index, leaf, path: path.map((hash) => hash.toString('hex')) };
  }
}

export const SALT_BYTES = 32;
const BLOCK_BYTES = 64;

/**
 * Derives the secrets of a close from its salt. Each secret is HMAC-SHA256(salt, label). There are four kinds: a salt
 * for each leaf, without which somebody could guess the content behind a hash in a path; the nonce for the internal
 * part of the close line; the pads of the tree; and its mask.
 */
export class CloseSalt {
  readonly #inner: Buffer;
  readonly #outer: Buffer;

  /** `hex` is the salt of the close in hex, as stored in the ledger. */
  constructor(hex: string) {
    const key = Buffer.alloc(BLOCK_BYTES);
    Buffer.from(hex, 'hex').copy(key);
    this.#inner = key.map((byte) => byte ^ 0x36) as Buffer;
    this.#outer = Buffer.concat([key.map((byte) => byte ^ 0x5c), Buffer.alloc(SALT_BYTES)]);
  }

  tenantSalt(tenantId: string): string {
    return this.#mac(`tenant:${tenantId}`).toString('hex');
  }

  get periodSalt(): string {
    return this.#mac('period').toString('hex');
  }

  get nonce(): Buffer {
    return this.#mac('internal');
  }

  /** Returns the hash to use instead of a missing sibling. `height` is the number of levels above the leaves. */
  pad(height: number): Buffer {
    return this.#mac(`pad:${height}`);
  }

  /**
   * One bit for each level of the tree, lowest bit for the leaves. The bit is 1 if left and right are swapped on the
   * level.
   */
  get mask(): number {
    return this.#mac('mask').readUInt32BE();
  }

  /**
   * Computes HMAC-SHA256 by hand. `createHmac` would need an object for each of a million tenants, which takes four
   * times as long.
   */
  #mac(label: string): Buffer {
    hash('sha256', Buffer.concat([this.#inner, Buffer.from(label)]), 'buffer').copy(this.#outer, BLOCK_BYTES);
    return hash('sha256', this.#outer, 'buffer');
  }
}
