import { expect, test } from 'vitest';
import { TenantNumbering } from '../../src/speed/tenant-numbers.ts';

test('ids fill blocks, the table grows, and each id is found again', () => {
  const numbers = new TenantNumbering(0);
  const ids = Array.from({ length: 40_000 }, (_, at) => `tenant-${at}-${'x'.repeat(at % 1000)}`);
  for (const [at, id] of ids.entries()) expect(numbers.numberOf(id)).toBe(at + 1);
  for (const [at, id] of ids.entries()) expect(numbers.numberOf(id)).toBe(at + 1);
  expect([...numbers.takeNew()]).toEqual(ids);
});
