import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TenantNumbering } from '../../src/speed/tenant-numbers.ts';

test('a tenant has one number, by its id as text or as bytes, and new tenants are in order of appearance', () => {
  const id = fc.oneof(fc.string({ minLength: 1, maxLength: 8, unit: 'binary' }), fc.stringMatching(/^[ab]{1,3}$/));
  fc.assert(
    fc.property(fc.uniqueArray(id, { maxLength: 40 }), fc.array(fc.tuple(id, fc.boolean())), (known, met) => {
      const numbers = new TenantNumbering(1000);
      for (const [at, one] of known.entries()) numbers.addKnown(one, at * 3);
      const expected = new Map(known.map((one, at) => [one, at * 3]));
      const fresh: string[] = [];
      for (const [one, isText] of met) {
        if (!expected.has(one)) expected.set(one, 1000 + fresh.push(one));
        const bytes = Buffer.from(`x${one}y`);
        const number = isText ? numbers.numberOf(one) : numbers.numberAt(bytes, 1, bytes.length - 1);
        expect([one, number]).toEqual([one, expected.get(one)]);
      }
      expect(numbers.size).toBe(expected.size);
      expect([...numbers.takeNew()]).toEqual(fresh);
      expect(() => numbers.numberOf('a')).toThrow('the tenant numbers were taken already');
    }),
    { numRuns: 300 },
  );
});
