import { hash } from 'node:crypto';

export const SALT_BYTES = 32;
const BLOCK_BYTES = 64;

/**
 * What a close draws from its salt, each as HMAC-SHA256(salt, label): the salt of each leaf, so that nobody guesses what
 * the hashes beside a path stand for; the nonce of the internal part of its line; and what fills the tree up.
 */
export class CloseSalt {
  readonly #inner: Buffer;
  readonly #outer: Buffer;

  /** @param hex the salt as the ledger keeps it. */
  constructor(hex: string) {
    const key = Buffer.alloc(BLOCK_BYTES);
    Buffer.from(hex, 'hex').copy(key);
    this.#inner = key.map((byte) => byte ^ 0x36) as Buffer;
    this.#outer = Buffer.concat([key.map((byte) => byte ^ 0x5c), Buffer.alloc(SALT_BYTES)]);
  }

  ofTenant(tenantId: string): string {
    return this.#mac(`tenant:${tenantId}`).toString('hex');
  }

  get ofPeriod(): string {
    return this.#mac('period').toString('hex');
  }

  /** Of the internal part of the line, as bytes. */
  get nonce(): Buffer {
    return this.#mac('internal');
  }

  /** What stands beside a node that has no sibling, by its height over the leaves. */
  pad(height: number): Buffer {
    return this.#mac(`pad:${height}`);
  }

  /** At which heights left and right are exchanged: a bit each. */
  get mask(): number {
    return this.#mac('mask').readUInt32BE();
  }

  /** By hand: a hash object each takes four times as long, for each of a million tenants. */
  #mac(label: string): Buffer {
    hash('sha256', Buffer.concat([this.#inner, Buffer.from(label)]), 'buffer').copy(this.#outer, BLOCK_BYTES);
    return hash('sha256', this.#outer, 'buffer');
  }
}
