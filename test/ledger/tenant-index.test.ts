import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TenantIndex } from '../../src/ledger/tenant-index.ts';

const ids = fc.array(
  fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.nat(50).map((number) => `tenant-${number}`),
  ),
  {
    maxLength: 300,
  },
);

test('every id has one number, by its text as by its bytes, wherever these lie', () => {
  fc.assert(
    fc.property(ids, fc.nat(9), (given, offset) => {
      const index = new TenantIndex();
      const model = new Map<string, number>();
      for (const [position, id] of given.entries()) {
        const next = () => model.size + 1;
        const text = Buffer.from(`${'#'.repeat(offset)}${id}!`);
        const number =
          position % 2 === 0 ? index.keyOfText(id, next) : index.keyOf(text, offset, text.length - 1, next);
        if (!model.has(id)) model.set(id, model.size + 1);
        expect(number).toBe(model.get(id));
      }
      expect(index.size).toBe(model.size);
    }),
  );
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
