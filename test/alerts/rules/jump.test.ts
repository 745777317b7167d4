import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PeriodPhase } from '../../../src/alerts/figures/period-phase.ts';
import { jumpThreshold } from '../../../src/alerts/figures/threshold.ts';
import type { UsageForecast } from '../../../src/alerts/forecast/forecast.ts';
import { INCONCLUSIVE, type Judgement, UNDECIDED } from '../../../src/alerts/rules/judgement.ts';
import { type JumpInput, judgeJump } from '../../../src/alerts/rules/jump/judge-jump.ts';

const MAX = 2n ** 63n - 1n;
const DAY_MS = 86_400_000;
const MARCH_MS = 31 * DAY_MS;
const credits = fc.bigInt({ min: 1n, max: MAX });
const elapsed = fc.integer({ min: 0, max: MARCH_MS });
const thresholds = fc.record({
  ratio: fc.integer({ min: 0, max: 500 }).map((hundredths) => hundredths / 100),
  minCredits: fc.integer({ min: 0, max: 1_000_000 }),
});
const defaults = { ratio: 1.5, minCredits: 1000 };
type Limits = typeof defaults;

function openFor(elapsedMs: number): PeriodPhase {
  return { elapsedMs, lengthMs: MARCH_MS, over: false, settled: false };
}
const OVER: PeriodPhase = { elapsedMs: MARCH_MS, lengthMs: MARCH_MS, over: true, settled: false };
const SETTLED: PeriodPhase = { ...OVER, settled: true };

function input(
  current: bigint,
  previous: bigint | null,
  changes: Partial<JumpInput> & { limits?: Limits } = {},
): JumpInput {
  const { limits = defaults, ...rest } = changes;
  return {
    current,
    previous: { figures: previous === null ? null : { credits: previous, requests: 10n }, usable: true },
    threshold:
      previous === null || previous <= 0n ? null : { credits: jumpThreshold(previous, limits), baseline: previous },
    phase: openFor(DAY_MS),
    firing: null,
    paceMinFraction: 0.1,
    monthForecast: () => monthForecast(0n, 0n),
    ...rest,
  };
}

function monthForecast(sure: bigint | null, likely: bigint): UsageForecast {
  return { low: sure ?? likely, likely, high: likely, sure };
}

function stageOf(one: JumpInput): string | null {
  const judgement = judgeJump(one);
  return judgement.verdict === 'holds' ? judgement.finding.level : null;
}

describe('the jump threshold', () => {
  it('is the ratio for large tenants and the floor for small ones', () => {
    expect(jumpThreshold(100_000n, defaults)).toBe(150_000n);
    expect(jumpThreshold(100n, defaults)).toBe(1100n);
    expect(jumpThreshold(2000n, defaults)).toBe(3000n);
  });

  it('rounds half a credit up when the ratio is 1.5 and the previous credits are odd', () => {
    fc.assert(
      fc.property(credits, (half) => {
        const odd = 2n * half + 1n;
        expect(jumpThreshold(odd, { ratio: 1.5, minCredits: 0 })).toBe(3n * half + 2n);
      }),
    );
  });

  it('takes the ratio as the decimal that was written, not as the nearest binary fraction', () => {
    expect(jumpThreshold(10n ** 18n, { ratio: 1.1, minCredits: 0 })).toBe(11n * 10n ** 17n);
    expect(jumpThreshold(10n, { ratio: 1.1, minCredits: 0 })).toBe(11n);
    expect(jumpThreshold(MAX, { ratio: 2, minCredits: 0 })).toBe(2n * MAX);
    expect(jumpThreshold(10n ** 7n, { ratio: 1e-7, minCredits: 0 })).toBe(10n ** 7n);
    expect(jumpThreshold(3n, { ratio: 1.5e21, minCredits: 0 })).toBe(45n * 10n ** 20n);
  });

  it('equals the exact ceiling for every ratio of two decimals', () => {
    fc.assert(
      fc.property(credits, fc.integer({ min: 100, max: 500 }), (previous, hundredths) => {
        const threshold = jumpThreshold(previous, { ratio: hundredths / 100, minCredits: 0 });
        expect(threshold * 100n).toBeGreaterThanOrEqual(previous * BigInt(hundredths));
        expect((threshold - 1n) * 100n).toBeLessThan(previous * BigInt(hundredths));
      }),
    );
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, -1])('refuses %s as a ratio or a floor', (value) => {
    expect(() => jumpThreshold(1n, { ratio: value, minCredits: 0 })).toThrowError(
      expect.objectContaining({ code: 'bad_threshold', message: expect.stringContaining('alerts.ratio') }),
    );
    expect(() => jumpThreshold(1n, { ratio: 1, minCredits: value })).toThrowError(
      expect.objectContaining({ code: 'bad_threshold', message: expect.stringContaining('alerts.min_credits') }),
    );
  });
});

describe('the jump rule', () => {
  it('has happened from exactly the threshold, at any size and on any day', () => {
    fc.assert(
      fc.property(credits, thresholds, elapsed, (previous, limits, elapsedMs) => {
        const threshold = jumpThreshold(previous, limits);
        fc.pre(threshold > previous);
        const at = (current: bigint) => stageOf(input(current, previous, { limits, phase: openFor(elapsedMs) }));
        expect(at(threshold)).toBe('happened');
        expect(at(threshold - 1n)).not.toBe('happened');
      }),
    );
  });

  it('keeps holding when the credits rise further', () => {
    fc.assert(
      fc.property(credits, credits, credits, thresholds, elapsed, (a, b, previous, limits, elapsedMs) => {
        const [lower, higher] = a < b ? [a, b] : [b, a];
        const at = (current: bigint) => stageOf(input(current, previous, { limits, phase: openFor(elapsedMs) }));
        expect(at(higher) !== null || at(lower) === null).toBe(true);
      }),
    );
  });

  it('never holds without growth once the period is over, whatever the thresholds', () => {
    fc.assert(
      fc.property(credits, credits, thresholds, (a, b, limits) => {
        const [current, previous] = a < b ? [a, b] : [b, a];
        for (const phase of [OVER, SETTLED]) expect(stageOf(input(current, previous, { limits, phase }))).toBeNull();
      }),
    );
    expect(stageOf(input(500n, 500n, { limits: { ratio: 1, minCredits: 0 } }))).toBeNull();
  });

  it('has happened until the period is over and settled, then it is settled', () => {
    const level = (phase: PeriodPhase) => stageOf(input(150_000n, 100_000n, { phase }));
    expect(level(openFor(DAY_MS))).toBe('happened');
    expect(level(OVER)).toBe('happened');
    expect(level(SETTLED)).toBe('settled');
  });

  it('has nothing to compare with without a previous period or with nothing used in it', () => {
    for (const previous of [null, 0n, -5n]) expect(stageOf(input(MAX, previous))).toBeNull();
  });

  it('does not compare with a period that is likely too low', () => {
    const previous = { figures: { credits: 100_000n, requests: 1n }, usable: false };
    for (const phase of [openFor(20 * DAY_MS), SETTLED]) {
      expect(stageOf(input(MAX, 100_000n, { previous, phase }))).toBeNull();
    }
  });
});

describe('the forecast of a jump', () => {
  const foretold = (elapsedMs: number, changes: Partial<JumpInput> = {}) =>
    judgeJump(
      input(80_000n, 100_000n, {
        phase: openFor(elapsedMs),
        monthForecast: () => monthForecast(150_000n, 160_000n),
        ...changes,
      }),
    );
  const level = (judgement: Judgement) => (judgement.verdict === 'holds' ? judgement.finding.level : null);

  it('is judged from the fifth day on, or later when a larger fraction has to pass', () => {
    expect(level(foretold(5 * DAY_MS - 1))).toBeNull();
    expect(level(foretold(5 * DAY_MS))).toBe('likely');
    expect(level(foretold(5 * DAY_MS, { paceMinFraction: 0.01 }))).toBe('likely');
    expect(level(foretold(15 * DAY_MS, { paceMinFraction: 0.5 }))).toBeNull();
  });

  it('waits for a day, a certain jump does not', () => {
    const finding = (judgement: Judgement) => (judgement.verdict === 'holds' ? judgement.finding : null);
    expect(finding(foretold(10 * DAY_MS))).toMatchObject({
      ...{ severity: 'warning', magnitude: 160_000n },
      confirmAfterMs: DAY_MS - 1_800_000,
    });
    expect(finding(judgeJump(input(150_000n, 100_000n)))).toMatchObject({
      ...{ severity: 'critical', magnitude: 150_000n },
      confirmAfterMs: null,
    });
  });

  it('is not computed without a baseline, or once the month is over', () => {
    expect(level(foretold(10 * DAY_MS, { monthForecast: null }))).toBeNull();
    expect(level(foretold(31 * DAY_MS, { phase: OVER }))).toBeNull();
  });
});

describe('clearing a jump', () => {
  const verdict = (current: bigint, changes: Partial<JumpInput>) => judgeJump(input(current, 100_000n, changes));

  it('needs a forecast below nine tenths of the threshold while the month is open', () => {
    const phase = openFor(15.5 * DAY_MS);
    const open = (said: UsageForecast | null) =>
      verdict(60_000n, { phase, firing: 'likely', monthForecast: () => said });
    expect(open(monthForecast(135_000n, 160_000n))).toEqual({ ...INCONCLUSIVE, magnitude: 160_000n });
    expect(open(monthForecast(134_999n, 135_000n))).toEqual({ ...UNDECIDED, magnitude: 135_000n });
    for (const said of [null, monthForecast(null, 160_000n)])
      expect(open(said)).toEqual({ verdict: 'clear', atOnce: false });
    expect(open(monthForecast(100_000n, 134_999n))).toEqual({ verdict: 'clear', atOnce: false });
  });

  it('has no forecast for a month with negative credits', () => {
    const said: UsageForecast = { low: 200_000n, likely: 300_000n, high: 400_000n, sure: 200_000n };
    const foretold = (current: bigint) =>
      verdict(current, { phase: openFor(15.5 * DAY_MS), monthForecast: () => said }).verdict;
    expect([foretold(60_000n), foretold(-6_325n)]).toEqual(['holds', 'clear']);
  });

  it('needs less than nine tenths of the threshold, or no growth, once the month is over', () => {
    const phase = OVER;
    expect(verdict(135_000n, { phase, firing: 'happened' })).toEqual(UNDECIDED);
    expect(verdict(134_999n, { phase, firing: 'happened' })).toEqual({ verdict: 'clear', atOnce: true });
    expect(verdict(134_999n, { phase, firing: 'likely' })).toEqual({ verdict: 'clear', atOnce: false });
    const threshold = { credits: 110_000n, baseline: 100_000n };
    expect(verdict(100_001n, { phase, firing: 'happened', threshold })).toEqual(UNDECIDED);
    expect(verdict(100_000n, { phase, firing: 'happened', threshold })).toEqual({ verdict: 'clear', atOnce: false });
  });

  it('needs one run in a settled period, where only a settled alert is undecided', () => {
    expect(verdict(149_999n, { phase: SETTLED, firing: 'settled' })).toEqual(UNDECIDED);
    expect(verdict(134_999n, { phase: SETTLED, firing: 'settled' })).toEqual({ verdict: 'clear', atOnce: true });
    for (const firing of ['likely', 'happened'] as const) {
      expect(verdict(149_999n, { phase: SETTLED, firing })).toEqual({ verdict: 'clear', atOnce: true });
    }
  });
});
