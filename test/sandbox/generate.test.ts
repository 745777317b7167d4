import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGenerator, generatedTenantId, type UsageGenerator } from '../../src/sandbox/world/generate.ts';
import type { GenerateOptions } from '../../src/sandbox/world/scenario.ts';

const NOW = Date.UTC(2026, 1, 20, 12);
const MONTH_START = Date.UTC(2026, 1, 1);
const MONTH_MS = 28 * 86_400_000;

function generator(options: Partial<GenerateOptions> = {}): UsageGenerator {
  return createGenerator({ seed: 1, tenants: 40, months: 6, open_month: 'by_clock', ...options }, NOW);
}

const place = fc.record({ tenant: fc.nat(39), month: fc.constantFrom('2025-09', '2025-12', '2026-01', '2026-02') });

describe('the generator', () => {
  it('returns one value per seed, tenant, period and time, independent of earlier reads', () => {
    fc.assert(
      fc.property(fc.nat(1_000), fc.array(place, { minLength: 1, maxLength: 20 }), (seed, places) => {
        const warm = generator({ seed });
        const forward = places.map(({ tenant, month }) => warm.read(month, NOW)(tenant));
        const backward = places.toReversed().map(({ tenant, month }) => generator({ seed }).read(month, NOW)(tenant));
        expect(backward.toReversed()).toEqual(forward);
      }),
      { numRuns: 50 },
    );
  });

  it('differs between seeds, tenants and months', () => {
    const value = (seed: number, tenant: number, month: string) => generator({ seed }).read(month, NOW)(tenant).credits;
    const values = [value(1, 0, '2026-01'), value(2, 0, '2026-01'), value(1, 1, '2026-01'), value(1, 0, '2025-12')];
    expect(new Set(values).size).toBe(4);
  });

  it('never reduces the open month, and returns exact integers within the spread', () => {
    const { read } = generator({ months: 1 });
    const fraction = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.nat(39), fraction, fraction, (tenant, one, two) => {
        const at = (part: number) => read('2026-02', MONTH_START + part * MONTH_MS)(tenant);
        const [early, late] = [at(Math.min(one, two)), at(Math.max(one, two))];
        expect(late.credits).toBeGreaterThanOrEqual(early.credits);
        expect(late.requests).toBeGreaterThanOrEqual(early.requests);
        expect(Number.isSafeInteger(late.credits) && Number.isSafeInteger(late.requests)).toBe(true);
        const whole = at(1).credits;
        expect(whole).toBeGreaterThanOrEqual(4_749);
        expect(whole).toBeLessThanOrEqual(84_000);
      }),
    );
  });

  it('shows the open month complete or as at the start, by setting', () => {
    const credits = (open_month: 'full' | 'at_start' | 'by_clock', nowMs: number) =>
      generator({ open_month }).read('2026-02', nowMs)(0).credits;
    const whole = credits('by_clock', MONTH_START + MONTH_MS);
    expect(credits('full', NOW)).toBe(whole);
    expect(credits('at_start', NOW + 86_400_000)).toBe(credits('by_clock', NOW));
    expect(credits('by_clock', NOW)).toBeLessThan(whole);
  });

  it('returns readable, distinct names for 100,000 tenants', () => {
    const names = Array.from({ length: 100_000 }, (_, index) => generatedTenantId(index));
    expect(new Set(names).size).toBe(100_000);
    expect(names[0]).toBe('acme-robotics');
    expect(names.every((name) => /^[a-z]+-[a-z]+(-\d+)?$/.test(name))).toBe(true);
  });
});
