import { CloseSalt } from '../proof/close-salt.ts';
import { MerkleTree } from '../proof/merkle.ts';
import { SaltedTree } from '../proof/salted-tree.ts';
import type { BilledTenant } from './billed.ts';
import type { LeafProof } from './document.ts';
import { encodePeriod, encodeTenant, type PeriodLeaf } from './leaf.ts';

/** The tree over all statements of a period, in the form of its close: from before closes were salted, or since. */
export interface CommitTree {
  readonly leaves: number;
  /** Hex. */
  readonly root: string;
  addPeriod(period: PeriodLeaf): void;
  /** Tenants come in the byte order of their ids. */
  addTenant(tenant: BilledTenant): void;
  proofOfPeriod(period: PeriodLeaf): LeafProof;
  /** @param place the how-manieth tenant it is, from 0. */
  proofOfTenant(tenant: BilledTenant, place: number): LeafProof;
}

/** @param salt of the close, as the ledger keeps it; null for one from before closes were salted. */
export function createCommitTree(salt: string | null): CommitTree {
  return salt === null ? plainTree() : saltedTree(new CloseSalt(salt));
}

/** Leaf 0 says which period it is, then comes one leaf a tenant. */
function plainTree(): CommitTree {
  const tree = new MerkleTree();
  const proofAt = (index: number, leaf: string): LeafProof => {
    return { index, leaf, path: inHex(tree.inclusionProof(index)) };
  };
  return {
    get leaves() {
      return tree.size;
    },
    get root() {
      return tree.root.toString('hex');
    },
    addPeriod: (period) => void tree.add(encodePeriod(period, null)),
    addTenant: (tenant) => void tree.add(encodeTenant(tenant, null)),
    proofOfPeriod: (period) => proofAt(0, encodePeriod(period, null)),
    proofOfTenant: (tenant, place) => proofAt(place + 1, encodeTenant(tenant, null)),
  };
}

function saltedTree(salt: CloseSalt): CommitTree {
  const tree = new SaltedTree(salt);
  const ofPeriod = (period: PeriodLeaf): string => encodePeriod(period, salt.ofPeriod);
  const ofTenant = (tenant: BilledTenant): string => encodeTenant(tenant, salt.ofTenant(tenant.tenantId));
  const proofOf = (leaf: string): LeafProof => {
    const { index, path } = tree.pathOf(leaf);
    return { index, leaf, path: inHex(path) };
  };
  return {
    get leaves() {
      return tree.size;
    },
    get root() {
      return tree.root.toString('hex');
    },
    addPeriod: (period) => tree.add(ofPeriod(period)),
    addTenant: (tenant) => tree.add(ofTenant(tenant)),
    proofOfPeriod: (period) => proofOf(ofPeriod(period)),
    proofOfTenant: (tenant) => proofOf(ofTenant(tenant)),
  };
}

function inHex(hashes: readonly Buffer[]): string[] {
  return hashes.map((hash) => hash.toString('hex'));
}
