import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TenantIndex } from '../../../src/ledger/staging/tenant-index.ts';

const ids = fc.array(
  fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.nat(50).map((number) => `tenant-${number}`),
  ),
  {
    maxLength: 300,
  },
);

test('every id has one number, by its text as by its bytes among others', () => {
  fc.assert(
    fc.property(ids, fc.nat(299), (given, split) => {
      const index = new TenantIndex();
      const model = new Map<string, number>();
      const add = (id: string): number => {
        const number = model.get(id) ?? model.size + 1;
        model.set(id, number);
        return number;
      };
      for (const id of given.slice(0, split)) expect(index.keyOfText(id, () => model.size + 1)).toBe(add(id));
      const bytes = Buffer.from(`#${given.slice(split).join('#')}`);
      const places = given.slice(split).map((id) => Buffer.byteLength(id));
      const starts = Uint32Array.from(places, (_, at) => at + 1 + places.slice(0, at).reduce((a, b) => a + b, 0));
      const ends = Uint32Array.from(places, (length, at) => (starts[at] ?? 0) + length);
      const found = new Uint32Array(places.length);
      index.keysOf(bytes, { starts, ends, count: places.length }, found, (from, to) => {
        const id = bytes.toString('utf8', from, to);
        expect(model.has(id)).toBe(false);
        return add(id);
      });
      expect([...found]).toEqual(given.slice(split).map((id) => model.get(id)));
      expect(index.size).toBe(model.size);
    }),
  );
});

test('ids come back as they went in, from any of them on', () => {
  const given = ['a', '\ufeffb', 'müller', '😀', 'a\u0000b', 'x'.repeat(5_000)];
  const many = [...given, ...Array.from({ length: 3_000 }, (_, number) => `t-${number}`)];
  const index = new TenantIndex();
  for (const [at, id] of many.entries()) index.keyOfText(id, () => at);
  expect([...index.idsFrom(0)]).toEqual(many);
  expect([...index.idsFrom(2)]).toEqual(many.slice(2));
  expect([...index.idsFrom(many.length)]).toEqual([]);
});

test('a hundred thousand ids, short and long, keep their numbers while the index grows', () => {
  const index = new TenantIndex();
  const idOf = (number: number) => `${'x'.repeat(number % 97)}-${number}`;
  for (let number = 1; number <= 100_000; number += 1) expect(index.keyOfText(idOf(number), () => number)).toBe(number);
  const known = (): number => {
    throw new Error('every id is known by now');
  };
  for (let number = 1; number <= 100_000; number += 7) expect(index.keyOfText(idOf(number), known)).toBe(number);
  expect(index.keyOfText('nobody', () => 7)).toBe(7);
});
