import { CloseSalt } from '../proof/close-salt.ts';
import { SaltedTree } from '../proof/salted-tree.ts';
import type { BilledTenant } from './billed.ts';
import type { LeafProof } from './document.ts';
import { encodePeriod, encodeTenant, type PeriodLeaf } from './leaf.ts';

/** The tree over all statements of a period: one leaf says which period it is, and there is one for each tenant. */
export class CommitTree {
  readonly #salt: CloseSalt;
  readonly #tree: SaltedTree;

  /** @param salt of the close, as the ledger keeps it. */
  constructor(salt: string) {
    this.#salt = new CloseSalt(salt);
    this.#tree = new SaltedTree(this.#salt);
  }

  get leaves(): number {
    return this.#tree.size;
  }

  /** Hex. */
  get root(): string {
    return this.#tree.root.toString('hex');
  }

  addPeriod(period: PeriodLeaf): void {
    this.#tree.add(this.#ofPeriod(period));
  }

  addTenant(tenant: BilledTenant): void {
    this.#tree.add(this.#ofTenant(tenant));
  }

  proofOfPeriod(period: PeriodLeaf): LeafProof {
    return this.#proofOf(this.#ofPeriod(period));
  }

  proofOfTenant(tenant: BilledTenant): LeafProof {
    return this.#proofOf(this.#ofTenant(tenant));
  }

  #ofPeriod(period: PeriodLeaf): string {
    return encodePeriod(period, this.#salt.ofPeriod);
  }

  #ofTenant(tenant: BilledTenant): string {
    return encodeTenant(tenant, this.#salt.ofTenant(tenant.tenantId));
  }

  #proofOf(leaf: string): LeafProof {
    const { index, path } = this.#tree.pathOf(leaf);
    return { index, leaf, path: path.map((hash) => hash.toString('hex')) };
  }
}
