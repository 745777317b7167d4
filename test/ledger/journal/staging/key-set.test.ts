import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BitSet, KeySet } from '../../../../src/ledger/journal/staging/key-set.ts';
import { periodKeyOf } from '../../../../src/ledger/store/schema/keys.ts';

const PERIODS = ['2026-01', '2026-02', '2026-03'].map((period) => periodKeyOf(1, period));
type Key = [period: number, tenant: number];

test('bits are a set of positions: each is new once, and iteration is in order', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20_000)), (positions) => {
      const bits = new BitSet();
      const model = new Set<number>();
      for (const position of positions) {
        expect(bits.set(position)).toBe(!model.has(position));
        model.add(position);
      }
      expect([...bits]).toEqual([...model].sort((a, b) => a - b));
    }),
  );
});

test('a key set counts distinct keys and reports repeated ones', () => {
  fc.assert(
    fc.property(keys(), (given) => {
      const set = new KeySet();
      const model = new Set<string>();
      for (const [period, tenant] of given) {
        expect(set.add(set.period(period), tenant)).toBe(!model.has(`${period} ${tenant}`));
        model.add(`${period} ${tenant}`);
      }
      expect(set.size).toBe(model.size);
    }),
  );
});

test('two key sets are equal, and have one digest, exactly when they hold the same keys', () => {
  fc.assert(
    fc.property(keys(), keys(), (left, right) => {
      const same = textOf(left) === textOf(right);
      expect(setOf(left).equals(setOf(right))).toBe(same);
      expect(setOf(left).digest() === setOf(right).digest()).toBe(same);
    }),
  );
});

test('order, repetition and merely requested periods make no difference', () => {
  fc.assert(
    fc.property(keys(), (given) => {
      const other = setOf([...given].reverse().concat(given));
      other.period(periodKeyOf(1, '2030-12'));
      expect(setOf(given).equals(other)).toBe(true);
      expect(other.equals(setOf(given))).toBe(true);
      expect(other.digest()).toBe(setOf(given).digest());
    }),
  );
});

test('shifting moves exactly the tenants above the base', () => {
  fc.assert(
    fc.property(keys(), fc.nat(300), fc.integer({ min: 1, max: 5_000 }), (given, base, shift) => {
      const moved = given.map(([period, tenant]): Key => [period, tenant > base ? tenant + shift : tenant]);
      const shifted = setOf(given).shifted(base, shift);
      expect(shifted.equals(setOf(moved))).toBe(true);
      expect(shifted.size).toBe(setOf(given).size);
      expect(shifted.digest()).toBe(setOf(moved).digest());
    }),
  );
});

test('the digest matches its description, computed independently', () => {
  // Tenants 1 and 9 of 2026-03: bit 1 of byte 0 and bit 1 of byte 1, after the period's name and a line feed.
  const set = setOf([
    [periodKeyOf(1, '2026-03'), 9],
    [periodKeyOf(1, '2026-03'), 1],
  ]);
  // printf '2026-03\n\x02\x02' | sha256sum
  expect(set.digest()).toBe('275386d28eb4e25ab14f4b2a0b0db0973a1426432f00d50569aecc3be5110e87');
});

/** Keys in a small room, so that sets overlap, are equal and repeat often. */
function keys(): fc.Arbitrary<Key[]> {
  const few = fc.tuple(fc.constantFrom(...PERIODS.slice(0, 2)), fc.integer({ min: 1, max: 2 }));
  const many = fc.tuple(fc.constantFrom(...PERIODS), fc.integer({ min: 1, max: 5_000 }));
  return fc.oneof(fc.array(few, { maxLength: 4 }), fc.array(many)) as fc.Arbitrary<Key[]>;
}

function setOf(given: readonly Key[]): KeySet {
  const set = new KeySet();
  for (const [period, tenant] of given) set.add(set.period(period), tenant);
  return set;
}

function textOf(given: readonly Key[]): string {
  return [...new Set(given.map(([period, tenant]) => `${period} ${tenant}`))].sort().join();
}
