import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addPeriods,
  elapsedFraction,
  isInPeriods,
  isPeriod,
  parsePeriod,
  periodAt,
  periodBounds,
  periodEndMs,
  periodFromIndex,
  periodIndex,
  periodRange,
  periodStartMs,
} from '../../src/core/period.ts';

const LAST_INDEX = 9999 * 12 + 11;

test('a period and its index convert both ways and sort alike', () => {
  fc.assert(
    fc.property(index(), index(), (a, b) => {
      expect(periodIndex(periodFromIndex(a))).toBe(a);
      expect(isPeriod(periodFromIndex(a))).toBe(true);
      expect(Math.sign(a - b)).toBe(compare(periodFromIndex(a), periodFromIndex(b)));
    }),
  );
});

test.each<[Parameters<typeof isInPeriods>[1], string[]]>([
  [undefined, ['2026-01', '2026-02', '2026-03', '2026-04']],
  ['2026-02', ['2026-02']],
  [{ from: '2026-02' }, ['2026-02', '2026-03', '2026-04']],
  [{ to: '2026-02' }, ['2026-01', '2026-02']],
  [{ from: '2026-02', to: '2026-03' }, ['2026-02', '2026-03']],
  [{}, ['2026-01', '2026-02', '2026-03', '2026-04']],
])('of four months %j wants %j', (wanted, expected) => {
  expect(periodRange('2026-01', '2026-04').filter((period) => isInPeriods(period, wanted))).toEqual(expected);
});

test('adding and subtracting the same number of months returns the original period', () => {
  fc.assert(
    fc.property(index(2_000, 50_000), fc.integer({ min: -1_000, max: 1_000 }), (at, months) => {
      const period = periodFromIndex(at);
      expect(addPeriods(addPeriods(period, months), -months)).toBe(period);
    }),
  );
});

test.each([
  ['2026-01', -1, '2025-12'],
  ['2025-12', 1, '2026-01'],
  ['2026-03', 0, '2026-03'],
  ['2026-03', 25, '2028-04'],
])('%s and %i months are %s', (period, months, expected) => {
  expect(addPeriods(period, months)).toBe(expected);
});

test('a range contains each period once from first to last, and is empty if reversed', () => {
  fc.assert(
    fc.property(index(), fc.integer({ min: -20, max: 200 }), (first, length) => {
      const last = Math.min(LAST_INDEX, Math.max(0, first + length));
      const range = periodRange(periodFromIndex(first), periodFromIndex(last));
      const count = Math.max(0, last - first + 1);
      expect(range.map(periodIndex)).toEqual(Array.from({ length: count }, (_, offset) => first + offset));
    }),
  );
});

test('each instant lies in exactly the period that begins at or before it and ends after it', () => {
  fc.assert(
    fc.property(instant(), (nowMs) => {
      const period = periodAt(nowMs);
      expect(periodStartMs(period)).toBeLessThanOrEqual(nowMs);
      expect(periodEndMs(period)).toBeGreaterThan(nowMs);
      expect(periodStartMs(addPeriods(period, 1))).toBe(periodEndMs(period));
    }),
  );
});

test('the elapsed fraction rises from 0 to 1 over the period and stays there', () => {
  fc.assert(
    fc.property(instant(), instant(), instant(), (of, one, other) => {
      const period = periodAt(of);
      const [early, late] = one < other ? [one, other] : [other, one];
      expect(elapsedFraction(period, early)).toBeLessThanOrEqual(elapsedFraction(period, late));
      expect(elapsedFraction(period, periodStartMs(period))).toBe(0);
      expect(elapsedFraction(period, periodEndMs(period))).toBe(1);
      expect(elapsedFraction(period, of)).toBeGreaterThanOrEqual(0);
      expect(elapsedFraction(period, of)).toBeLessThan(1);
    }),
  );
  expect(elapsedFraction('2026-02', Date.UTC(2026, 1, 15))).toBe(0.5);
});

test('months are those of the UTC calendar, leap days included', () => {
  expect(periodAt(Date.UTC(2026, 0, 31, 23, 59, 59, 999))).toBe('2026-01');
  expect(periodAt(Date.UTC(2026, 1, 1))).toBe('2026-02');
  expect(periodEndMs('2028-02') - periodStartMs('2028-02')).toBe(29 * 86_400_000);
});

test.each(['2026-13', '2026-00', '2026-1', '26-01', '2026-01-01', '', ' 2026-01', '2026-01\n', '２026-01'])(
  '%j is no period and is refused with how to write one',
  (text) => {
    expect(isPeriod(text)).toBe(false);
    expect(() => parsePeriod(text, 'from')).toThrow(
      expect.objectContaining({
        code: 'bad_period',
        message: expect.stringContaining('from'),
        hint: expect.any(String),
      }),
    );
  },
);

test('a real month is accepted, and the error calls any other text a period by default', () => {
  expect(parsePeriod('2026-02')).toBe('2026-02');
  expect(() => parsePeriod('2026-13')).toThrow('period "2026-13" is not a month');
});

test('a period index counts months since year 0', () => {
  expect(periodIndex('0000-01')).toBe(0);
  expect(periodIndex('2026-10')).toBe(2026 * 12 + 9);
});

test('the elapsed fraction is 0 before a period starts and 1 after it ends', () => {
  expect(elapsedFraction('2026-02', Date.UTC(2025, 0, 1))).toBe(0);
  expect(elapsedFraction('2026-02', Date.UTC(2027, 0, 1))).toBe(1);
});

function index(min = 0, max = LAST_INDEX): fc.Arbitrary<number> {
  return fc.integer({ min, max });
}

function instant(): fc.Arbitrary<number> {
  return fc.integer({ min: Date.UTC(1970, 0, 1), max: Date.UTC(2199, 11, 31) });
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

test('the bounds of a period are the first and the last second of its calendar month in UTC', () => {
  expect(periodBounds('2028-02')).toEqual({ start: '2028-02-01T00:00:00.000Z', end: '2028-02-29T23:59:59.000Z' });
  expect(periodBounds('9999-12').end).toBe('9999-12-31T23:59:59.000Z');
  expect(periodBounds('0000-01').start).toBe('0000-01-01T00:00:00.000Z');
});
