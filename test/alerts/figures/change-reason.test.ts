import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findGrowthDriver } from '../../../src/alerts/figures/change-reason.ts';

const usage = (credits: bigint, requests: bigint) => ({ credits, requests });
const count = fc.bigInt({ min: 1n, max: 2n ** 31n });
const factor = fc.bigInt({ min: 2n, max: 2n ** 30n });

describe('the reason of a change', () => {
  it('is volume when requests grew as much as credits', () => {
    fc.assert(
      fc.property(count, count, factor, (credits, requests, times) => {
        expect(findGrowthDriver(usage(credits, requests), usage(credits * times, requests * times))).toBe('volume');
      }),
    );
  });

  it('is intensity when requests did not grow', () => {
    fc.assert(
      fc.property(count, count, factor, (credits, requests, times) => {
        expect(findGrowthDriver(usage(credits, requests), usage(credits * times, requests))).toBe('intensity');
        expect(findGrowthDriver(usage(credits, requests), usage(credits * times, requests - 1n))).toBe('intensity');
      }),
    );
    expect(findGrowthDriver(usage(100n, 0n), usage(200n, 0n))).toBe('intensity');
  });

  it('is mixed when both grew by a like factor', () => {
    expect(findGrowthDriver(usage(100n, 10n), usage(400n, 20n))).toBe('mixed');
  });

  it('names the one that explains at least four fifths of the growth', () => {
    expect(findGrowthDriver(usage(100n, 10_000n), usage(1000n, 64_000n))).toBe('volume');
    expect(findGrowthDriver(usage(100n, 10_000n), usage(1000n, 62_000n))).toBe('mixed');
    expect(findGrowthDriver(usage(100n, 10_000n), usage(1000n, 15_800n))).toBe('intensity');
    expect(findGrowthDriver(usage(100n, 10_000n), usage(1000n, 15_900n))).toBe('mixed');
  });

  it('is volume when requests grew more than credits', () => {
    expect(findGrowthDriver(usage(100n, 10n), usage(150n, 100n))).toBe('volume');
  });

  it('is mixed when the first requests appear with earlier credits', () => {
    expect(findGrowthDriver(usage(100n, 0n), usage(200n, 5n))).toBe('mixed');
  });

  it('is absent when credits did not grow from a positive figure', () => {
    expect(findGrowthDriver(usage(100n, 1n), usage(100n, 9n))).toBeNull();
    expect(findGrowthDriver(usage(100n, 1n), usage(0n, 9n))).toBeNull();
    expect(findGrowthDriver(usage(0n, 1n), usage(10n, 9n))).toBeNull();
  });
});
