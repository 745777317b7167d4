import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { leafHash, MerkleTree, rootFromProof } from '../../../src/billing/proof/merkle.ts';

const sha256 = (...parts: Buffer[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

/** The definition of RFC 9162, 2.1.1, word by word. */
function definedRoot(entries: readonly string[]): Buffer {
  const [only] = entries;
  if (only === undefined) return sha256();
  if (entries.length === 1) return sha256(Buffer.of(0), Buffer.from(only));
  let split = 1;
  while (split * 2 < entries.length) split *= 2;
  return sha256(Buffer.of(1), definedRoot(entries.slice(0, split)), definedRoot(entries.slice(split)));
}

/** The definition of RFC 9162, 2.1.3.1. */
function definedProof(entries: readonly string[], index: number): Buffer[] {
  if (entries.length <= 1) return [];
  let split = 1;
  while (split * 2 < entries.length) split *= 2;
  const [left, right] = [entries.slice(0, split), entries.slice(split)];
  return index < split
    ? [...definedProof(left, index), definedRoot(right)]
    : [...definedProof(right, index - split), definedRoot(left)];
}

function treeOf(entries: readonly string[]): MerkleTree {
  const tree = new MerkleTree();
  for (const entry of entries) tree.add(entry);
  return tree;
}

describe('a Merkle tree', () => {
  test('has the root of the known vectors', () => {
    expect(treeOf([]).root.toString('hex')).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
    expect(treeOf(['']).root.toString('hex')).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d');
  });

  test('has the root and the proofs that the RFC defines, at every size up to 40', () => {
    for (let size = 0; size <= 40; size += 1) {
      const entries = Array.from({ length: size }, (_, index) => `entry ${index} of ${size}`);
      const tree = treeOf(entries);
      expect(tree.root).toEqual(definedRoot(entries));
      entries.forEach((_, index) => {
        expect(tree.inclusionProof(index)).toEqual(definedProof(entries, index));
      });
    }
  });

  test('grows beyond its first memory, also after its root was asked for', () => {
    const entries = Array.from({ length: 5000 }, (_, index) => `entry ${index}`);
    const tree = treeOf(entries.slice(0, 1024));
    expect(tree.root).toEqual(definedRoot(entries.slice(0, 1024)));
    entries.slice(1024).forEach((entry, index) => {
      expect(tree.add(entry)).toBe(1024 + index);
    });
    expect(tree.root).toEqual(definedRoot(entries));
    expect(tree.inclusionProof(4999)).toEqual(definedProof(entries, 4999));
  });

  test('has no proof of a leaf that it does not have', () => {
    for (const index of [-1, 3, 0.5, Number.NaN]) {
      expect(() => treeOf(['a', 'b', 'c']).inclusionProof(index)).toThrow(RangeError);
    }
  });
});

const forest = fc
  .array(fc.string(), { minLength: 1, maxLength: 70 })
  .chain((entries) => fc.record({ entries: fc.constant(entries), index: fc.nat(entries.length - 1) }));

describe('an inclusion proof', () => {
  test('leads from its leaf to the root', () => {
    fc.assert(
      fc.property(forest, ({ entries, index }) => {
        const tree = treeOf(entries);
        const proof = tree.inclusionProof(index);
        const leaf = leafHash(entries[index] ?? '');
        expect(rootFromProof(leaf, { index, size: tree.size }, proof)).toEqual(tree.root);
      }),
    );
  });

  test('does not with another content, another hash, one hash too many or too few', () => {
    fc.assert(
      fc.property(forest, fc.nat(), ({ entries, index }, at) => {
        const tree = treeOf(entries);
        const proof = tree.inclusionProof(index);
        const place = { index, size: tree.size };
        const leaf = leafHash(entries[index] ?? '');
        const forged = [rootFromProof(leafHash(`${entries[index]}x`), place, proof)];
        forged.push(rootFromProof(leaf, place, [...proof, leaf]));
        if (proof.length > 0) {
          forged.push(rootFromProof(leaf, place, proof.slice(1)));
          const changed = proof.map((hash, position) => (position === at % proof.length ? sha256(hash) : hash));
          forged.push(rootFromProof(leaf, place, changed));
        }
        for (const root of forged) expect(root?.equals(tree.root) ?? false).toBe(false);
      }),
    );
  });

  test('of a place outside of the tree leads nowhere', () => {
    const leaf = leafHash('a');
    for (const place of [
      { index: 1, size: 1 },
      { index: -1, size: 1 },
      { index: 0, size: 0 },
      { index: 0.5, size: 2 },
    ]) {
      expect(rootFromProof(leaf, place, [])).toBeNull();
    }
  });
});
