import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FigureColumns } from '../../src/speed/figure-columns.ts';

type Figures = [tenantKey: number, credits: number | bigint, requests: number | bigint];

const whole = fc.maxSafeInteger();
const large = fc.bigInt(2n ** 53n, 2n ** 63n - 1n);
const figures = fc.uniqueArray(fc.tuple(fc.nat(1_000_000), fc.oneof(whole, large), fc.oneof(whole, large)), {
  selector: ([tenantKey]) => tenantKey,
  maxLength: 200,
});

test('figures have one digest in any order, and another when any of them changes', () => {
  fc.assert(
    fc.property(figures, fc.nat(), fc.constantFrom(0, 1, 2), (given, pick, column) => {
      const digest = digestOf(given);
      expect(digestOf([...given].reverse())).toBe(digest);
      if (given.length === 0) return;
      const at = pick % given.length;
      const changed = given.map((row, index): Figures => {
        if (index !== at) return row;
        const [tenantKey, credits, requests] = row;
        if (column === 0) return [tenantKey + 2_000_000, credits, requests];
        return column === 1 ? [tenantKey, next(credits), requests] : [tenantKey, credits, next(requests)];
      });
      expect(digestOf(changed)).not.toBe(digest);
      expect(digestOf(given.slice(1))).not.toBe(digest);
    }),
  );
});

test.each([1, 1_000])('records beyond one block come in order too, tenants %d apart', (apart) => {
  const rows = Array.from(
    { length: 20_000 },
    (_, at): Figures => [at * apart, at, at % 7 === 0 ? 2n ** 60n : 20_000 - at],
  );
  const columns = new FigureColumns();
  // 7919 and the number of rows have no common factor: each comes once.
  for (let step = 0; step < rows.length; step += 1) columns.add(...(rows[(step * 7919) % rows.length] as Figures));
  const seen: string[] = [];
  columns.inOrder().forEach((...row) => {
    seen.push(row.join());
  });
  expect(seen).toHaveLength(rows.length);
  expect(rows.find((row, at) => row.join() !== seen[at])).toBeUndefined();
  const digest = columns.inOrder().digest().toString('hex');
  expect(digestOf(rows)).toBe(digest);
  for (const at of [0, 1_024, 19_998]) {
    const [tenantKey, credits, requests] = rows[at] as Figures;
    expect(digestOf(rows.with(at, [tenantKey, credits, next(requests)]))).not.toBe(digest);
  }
});

test('zero has no sign', () => {
  expect(digestOf([[1, -0, 0]])).toBe(digestOf([[1, 0, -0]]));
});

function next(figure: number | bigint): number | bigint {
  return typeof figure === 'bigint' ? figure - 1n : figure - 1;
}

function digestOf(rows: readonly Figures[]): string {
  const columns = new FigureColumns();
  for (const [tenantKey, credits, requests] of rows) columns.add(tenantKey, credits, requests);
  return columns.inOrder().digest().toString('hex');
}
