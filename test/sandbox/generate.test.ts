import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGenerator, tenantName } from '../../src/sandbox/world/generate.ts';
import { checkScenario } from '../../src/sandbox/world/scenario.ts';
import type { GenerateOptions, ScenarioInput } from '../../src/sandbox/world/scenario-schema.ts';
import { scenarioWith } from './client.ts';

const NOW = Date.UTC(2026, 1, 20, 12);
const MONTH_START = Date.UTC(2026, 1, 1);
const MONTH_MS = 28 * 86_400_000;
const ORIGIN = { startedAtMs: NOW, speed: 1 };

type GenerateInput = NonNullable<ScenarioInput['workspaces'][number]['generate']>;

function options(input: Partial<GenerateInput> = {}): GenerateOptions {
  const [workspace] = checkScenario(scenarioWith({ generate: { tenants: 40, ...input } })).workspaces;
  if (workspace?.generate === undefined) throw new Error('the scenario lost its generator');
  return workspace.generate;
}

const place = fc.record({ tenant: fc.nat(39), month: fc.constantFrom('2025-09', '2025-12', '2026-01', '2026-02') });

describe('the generator', () => {
  it('gives one value per seed, tenant, period and instant, whatever was read before', () => {
    fc.assert(
      fc.property(fc.nat(1_000), fc.array(place, { minLength: 1, maxLength: 20 }), (seed, places) => {
        const warm = createGenerator(options({ seed }), ORIGIN);
        const forward = places.map(({ tenant, month }) => warm.read(month, NOW)(tenant));
        const backward = places
          .toReversed()
          .map(({ tenant, month }) => createGenerator(options({ seed }), ORIGIN).read(month, NOW)(tenant));
        expect(backward.toReversed()).toEqual(forward);
      }),
      { numRuns: 50 },
    );
  });

  it('differs between seeds, tenants and months', () => {
    const value = (seed: number, tenant: number, month: string) =>
      createGenerator(options({ seed }), ORIGIN).read(month, NOW)(tenant).credits;
    const values = [value(1, 0, '2026-01'), value(2, 0, '2026-01'), value(1, 1, '2026-01'), value(1, 0, '2025-12')];
    expect(new Set(values).size).toBe(4);
  });

  it('never lets the open month fall, and keeps every value an exact integer within its spread', () => {
    const generator = createGenerator(options({ monthly_growth: 0, variation: 0, spread: 3 }), ORIGIN);
    const fraction = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.nat(39), fraction, fraction, (tenant, one, two) => {
        const at = (part: number) => generator.read('2026-02', MONTH_START + part * MONTH_MS)(tenant);
        const [early, late] = [at(Math.min(one, two)), at(Math.max(one, two))];
        expect(late.credits).toBeGreaterThanOrEqual(early.credits);
        expect(late.requests).toBeGreaterThanOrEqual(early.requests);
        expect(Number.isSafeInteger(late.credits) && Number.isSafeInteger(late.requests)).toBe(true);
        const whole = at(1).credits;
        expect(whole).toBeGreaterThanOrEqual(4_999);
        expect(whole).toBeLessThanOrEqual(80_000);
      }),
    );
  });

  it('grows by the month and shows a full open month when told so', () => {
    const flat = { spread: 0, variation: 0, base_credits: 1_000, monthly_growth: 0.1, months: 3 };
    const generator = createGenerator(options({ ...flat, open_month: 'full' }), ORIGIN);
    expect(generator.firstPeriod).toBe('2025-12');
    const credits = ['2025-12', '2026-01', '2026-02'].map((month) => generator.read(month, NOW)(0).credits);
    expect(credits).toEqual([1_000, 1_100, 1_210]);
  });

  it('multiplies credits and requests of exactly one tenant and period', () => {
    const plain = createGenerator(options(), ORIGIN);
    const jumped = createGenerator(
      options({ jumps: [{ tenant: 'beacon-bakery', period: '2025-12', factor: 4, requests_factor: 2 }] }),
      ORIGIN,
    );
    const ratios = (month: string, tenant: number) => {
      const [before, after] = [plain.read(month, NOW)(tenant), jumped.read(month, NOW)(tenant)];
      return [Math.round(after.credits / before.credits), Math.round(after.requests / before.requests)];
    };
    expect(tenantName(2)).toBe('beacon-bakery');
    expect(ratios('2025-12', 2)).toEqual([4, 2]);
    expect(ratios('2025-12', 3)).toEqual([1, 1]);
    expect(ratios('2026-01', 2)).toEqual([1, 1]);
  });

  it('begins a jump at an instant of the usage clock, or seconds after the start however fast that clock runs', () => {
    const credits = (jump: object, speed: number, nowMs: number) =>
      createGenerator(options({ open_month: 'full', jumps: [{ tenant: 0, factor: 10, ...jump }] }), {
        startedAtMs: NOW,
        speed,
      }).read(
        '2026-02',
        nowMs,
      )(0).credits;
    const plain = credits({ factor: 1 }, 1, NOW);
    expect(credits({ after: '2026-02-20T13:00:00Z' }, 1, NOW + 3_599_999)).toBe(plain);
    expect(credits({ after: '2026-02-20T13:00:00Z' }, 1, NOW + 3_600_000)).toBeGreaterThan(9 * plain);
    expect(credits({ after_seconds: 8 }, 100, NOW + 799_999)).toBe(plain);
    expect(credits({ after_seconds: 8 }, 100, NOW + 800_000)).toBeGreaterThan(9 * plain);
  });

  it('gives 100,000 tenants readable, distinct names', () => {
    const names = Array.from({ length: 100_000 }, (_, index) => tenantName(index));
    expect(new Set(names).size).toBe(100_000);
    expect(names[0]).toBe('acme-robotics');
    expect(names.every((name) => /^[a-z]+-[a-z]+(-\d+)?$/.test(name))).toBe(true);
  });
});
