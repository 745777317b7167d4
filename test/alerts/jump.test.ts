import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { evaluateJump, type JumpInput, jumpCleared, jumpThreshold } from '../../src/alerts/rules/jump.ts';

const MAX = 2n ** 63n - 1n;
const credits = fc.bigInt({ min: 1n, max: MAX });
const thresholds = fc.record({
  ratio: fc.integer({ min: 0, max: 500 }).map((hundredths) => hundredths / 100),
  minCredits: fc.integer({ min: 0, max: 1_000_000 }),
});
const defaults = { ratio: 1.5, minCredits: 1000 };

function input(current: bigint, previous: bigint | null, changes: Partial<JumpInput> = {}): JumpInput {
  return {
    current: { credits: current, requests: 10n },
    previous: previous === null ? null : { credits: previous, requests: 10n },
    previousIsFirstEver: false,
    periodOver: false,
    settled: false,
    thresholds: defaults,
    ...changes,
  };
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
  it('fires from exactly the threshold on, at any size', () => {
    fc.assert(
      fc.property(credits, thresholds, (previous, limits) => {
        const threshold = jumpThreshold(previous, limits);
        fc.pre(threshold > previous);
        expect(evaluateJump(input(threshold - 1n, previous, { thresholds: limits }))).toBeNull();
        expect(evaluateJump(input(threshold, previous, { thresholds: limits }))).toEqual({
          stage: 'certain',
          severity: 'critical',
          threshold,
        });
      }),
    );
  });

  it('keeps firing when the credits rise further', () => {
    fc.assert(
      fc.property(credits, credits, credits, thresholds, (a, b, previous, limits) => {
        const [lower, higher] = a < b ? [a, b] : [b, a];
        const firedBelow = evaluateJump(input(lower, previous, { thresholds: limits })) !== null;
        const firedAbove = evaluateJump(input(higher, previous, { thresholds: limits })) !== null;
        expect(firedAbove || !firedBelow).toBe(true);
      }),
    );
  });

  it('never fires without growth, whatever the thresholds', () => {
    fc.assert(
      fc.property(credits, credits, thresholds, (a, b, limits) => {
        const [current, previous] = a < b ? [a, b] : [b, a];
        expect(evaluateJump(input(current, previous, { thresholds: limits }))).toBeNull();
      }),
    );
    expect(evaluateJump(input(500n, 500n, { thresholds: { ratio: 1, minCredits: 0 } }))).toBeNull();
  });

  it('is certain until the period is both over and settled, then final', () => {
    const stage = (periodOver: boolean, settled: boolean) =>
      evaluateJump(input(150_000n, 100_000n, { periodOver, settled }))?.stage;
    expect(stage(false, false)).toBe('certain');
    expect(stage(true, false)).toBe('certain');
    expect(stage(false, true)).toBe('certain');
    expect(stage(true, true)).toBe('final');
  });

  it('has nothing to compare with without a previous period or with nothing used in it', () => {
    for (const previous of [null, 0n, -5n]) expect(evaluateJump(input(MAX, previous))).toBeNull();
  });

  it('does not compare with the first period that the workspace ever had', () => {
    expect(evaluateJump(input(150_000n, 100_000n, { previousIsFirstEver: true }))).toBeNull();
    expect(evaluateJump(input(150_000n, 100_000n, { previousIsFirstEver: false }))).not.toBeNull();
  });
});

describe('clearing a jump', () => {
  it('needs the credits to fall below nine tenths of the threshold', () => {
    expect(jumpCleared(135_000n, 100_000n, defaults)).toBe(false);
    expect(jumpCleared(134_999n, 100_000n, defaults)).toBe(true);
  });

  it('never clears what would fire again at once', () => {
    fc.assert(
      fc.property(credits, credits, thresholds, (current, previous, limits) => {
        const fires = evaluateJump(input(current, previous, { thresholds: limits })) !== null;
        expect(fires && jumpCleared(current, previous, limits)).toBe(false);
      }),
    );
  });
});
