import { hash } from 'node:crypto';
import type { BilledTenant } from '../statement/billed.ts';
import type { LeafProof } from '../statement/document.ts';
import { encodePeriod, encodeTenant, type PeriodLeaf } from '../statement/leaf.ts';

/**
 * Hash prefixes of RFC 9162, section 2: a leaf is `SHA-256(0x00 || content)`, a node `SHA-256(0x01 || left || right)`.
 */
const LEAF = '\0';
const NODE = 1;
const HASH_BYTES = 32;
const FIRST_LEAVES = 1024;
/** The hashes in every path, for up to 16.7 million leaves. A fixed length hides the number of leaves. */
const PATH_HASHES = 24;

/**
 * The path from a leaf to the root, lowest hash first. A bit of `index` is 1 where the leaf's side is the right one.
 */
export interface SaltedPath {
  index: number;
  path: Buffer[];
}

/**
 * The Merkle tree of a close, built so that a path reveals nothing about other leaves or their number. The leaves are
 * sorted by hash, so a position says nothing about its neighbours. A node without a sibling gets a pad for its level.
 * The salt's mask swaps the sides of whole levels.
 */
class SaltedTree {
  /** One buffer for all hashes: a million leaves take 32 MB instead of a million objects. */
  #hashes: Buffer = Buffer.allocUnsafe(FIRST_LEAVES * HASH_BYTES);
  #size = 0;
  readonly #salt: CloseSalt;
  /** The levels from the leaves up, each with its pad. Null until first needed. */
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

  /** Returns the path of a leaf. Throws RangeError if there is no leaf with this content. */
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

/** Hashes a leaf in one call. A hash object per leaf would take most of the time of a large tree. */
function leafHash(content: string): Buffer {
  return hash('sha256', LEAF + content, 'buffer');
}

/** Returns the parents of each pair of hashes on a level. If `swapped`, the second hash of a pair is the left one. */
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

/** The tree over all statements of a period: one leaf for the period and one for each tenant. */
export class CommitTree {
  readonly #salt: CloseSalt;
  readonly #tree: SaltedTree;

  /** Takes the salt of the close in hex, as stored in the ledger. */
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
 * Derives the secrets of a close from its salt, each as HMAC-SHA256(salt, label): the salt of each leaf, so that nobody
 * can guess the contents behind the hashes of a path; the nonce for the internal part of the close line; and the pads
 * and mask of the tree.
 */
export class CloseSalt {
  readonly #inner: Buffer;
  readonly #outer: Buffer;

  /** Takes the salt in hex, as stored in the ledger. */
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

  /** Returns the hash that stands in for a missing sibling at this height above the leaves. */
  pad(height: number): Buffer {
    return this.#mac(`pad:${height}`);
  }

  /** One bit per height: 1 where left and right are swapped. */
  get mask(): number {
    return this.#mac('mask').readUInt32BE();
  }

  /** Hand-written HMAC: a million tenants would otherwise need a hash object each, which takes four times as long. */
  #mac(label: string): Buffer {
    hash('sha256', Buffer.concat([this.#inner, Buffer.from(label)]), 'buffer').copy(this.#outer, BLOCK_BYTES);
    return hash('sha256', this.#outer, 'buffer');
  }
}
