import { describe, expect, test } from 'vitest';
import { computeSharedFactors, removeSharedFactor } from '../../../src/alerts/forecast/shared-factor.ts';

const DAYS = 120;

/** Credits of each day, the first day first, of tenants of different size, weekday habit and noise. */
function tenants(count: number, factorOn: (day: number, tenant: number) => number): number[][] {
  return Array.from({ length: count }, (_, tenant) =>
    Array.from({ length: DAYS }, (_, day) => {
      const isIdle = tenant % 3 === 0 && day % 7 > 4;
      const noise = 1 + 0.3 * Math.sin(day * 12.9898 + tenant * 78.233);
      return (isIdle ? 0 : (tenant + 1) * 100 * noise) * factorOn(day, tenant);
    }),
  );
}

/** The factors, the first day first. */
function factorsOf(days: number[][]): number[] {
  return computeSharedFactors(days.map((own) => own.toReversed())).toReversed();
}

const isBetween = (from: number, to: number) => (_: unknown, day: number) => day >= from && day < to;

describe('the factor that tenants share', () => {
  test('is 1 on ordinary days, whatever a single tenant does', () => {
    const days = tenants(20, (day, tenant) => (tenant === 3 && day >= 90 ? 50 : 1));
    expect(new Set(factorsOf(days))).toEqual(new Set([1]));
  });

  test.each([
    ['a week at twice the usage', 90, 97, 2],
    ['two days', 100, 102, 2],
    ['three weeks', 80, 101, 2],
    ['a fall to half', 90, 104, 0.5],
    ['the latest three days', 117, 120, 3],
  ])('recognizes %s on each of its days, and no other', (_, from, to, factor) => {
    const found = factorsOf(tenants(30, (day) => (day >= from && day < to ? factor : 1)));
    for (const own of found.filter(isBetween(from, to))) expect(Math.abs(Math.log(own / factor))).toBeLessThan(0.25);
    expect(new Set(found.filter((_, day) => day < from || day >= to))).toEqual(new Set([1]));
  });

  test('a step that stays is the new normal after four weeks: the days before it have the inverse', () => {
    const step = (days: number) => factorsOf(tenants(30, (day) => (day >= DAYS - days ? 1.6 : 1)));
    expect(step(20).at(-1)).toBeGreaterThan(1.4);
    expect(step(20)[50]).toBe(1);
    expect(step(35).at(-1)).toBe(1);
    expect(step(35)[50]).toBeCloseTo(1 / 1.6, 1);
  });

  test('a month at twice the usage is a burst again once it is over', () => {
    const found = factorsOf(tenants(30, (day) => (day >= 80 && day < 111 ? 2 : 1)));
    expect(found.at(-1)).toBe(1);
    expect(found[90]).toBeCloseTo(2, 0);
  });

  test('needs ten tenants with four weeks of readings', () => {
    const burst = (day: number) => (day >= 90 && day < 97 ? 2 : 1);
    expect(factorsOf(tenants(9, burst))[93]).toBe(1);
    expect(factorsOf(tenants(10, burst))[93]).toBeGreaterThan(1.5);
    expect(factorsOf(tenants(30, burst).map((own) => own.slice(-27)))).toEqual(new Array(27).fill(1));
  });
});

test('a past without the shared part has its ordinary days, and the credits that were divided out', () => {
  const days = [100, 100, 200, 200, ...new Array<number>(60).fill(100)];
  const factors = [1, 1, 2, 2, ...new Array<number>(60).fill(1)];
  const past = { days, elapsed: 10, lengths: [31, 30, 31] as const, rests: [2000, null] as const };
  const { past: own, shared } = removeSharedFactor(past, factors);
  expect(own.days).toEqual(new Array(64).fill(100));
  expect(shared).toEqual({ credits: 200, lasting: { factor: 1, days: 0 } });
  expect(own.rests).toEqual([2000, null]);
});

test('a factor that lasts is known with its days', () => {
  const past = { days: [300, 300, 100], elapsed: 3, lengths: [31, 30, 31] as const, rests: [null, null] as const };
  expect(removeSharedFactor(past, [3, 3, 1]).shared).toEqual({ credits: 400, lasting: { factor: 3, days: 2 } });
});
