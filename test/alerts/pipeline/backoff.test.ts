import { describe, expect, it } from 'vitest';
import { nextAttemptDelayMs } from '../../../src/alerts/pipeline/backoff.ts';

const THREE_DAYS_MS = 3 * 24 * 3_600_000;

/** All waits of one delivery that never succeeds. */
function delays(random: () => number): number[] {
  const found: number[] = [];
  for (let attempt = 1; attempt < 1000; attempt += 1) {
    const delayMs = nextAttemptDelayMs(attempt, random);
    if (delayMs === null) return found;
    found.push(delayMs);
  }
  throw new Error('the delivery is never given up');
}

describe('the waits between attempts', () => {
  it('grow from seconds to six hours and then stay there', () => {
    const seconds = delays(() => 0).map((delayMs) => delayMs / 1000);
    expect(seconds.slice(0, 8)).toEqual([5, 15, 60, 300, 900, 3600, 10_800, 21_600]);
    expect(new Set(seconds.slice(8))).toEqual(new Set([21_600]));
  });

  it('end within three days, and not much earlier', () => {
    const totalMs = delays(() => 0).reduce((sum, delayMs) => sum + delayMs, 0);
    expect(totalMs).toBeLessThanOrEqual(THREE_DAYS_MS);
    expect(totalMs).toBeGreaterThan(THREE_DAYS_MS - 6 * 3_600_000);
  });

  it('are spread by shortening each by up to a fifth, without changing how many there are', () => {
    const full = delays(() => 0);
    const half = delays(() => 0.5);
    const short = delays(() => 0.999_999);
    expect(half).toEqual(full.map((delayMs) => delayMs * 0.9));
    expect(short).toHaveLength(full.length);
    expect(short[0]).toBeGreaterThanOrEqual(4000);
    expect(short[0]).toBeLessThan(4010);
  });

  it('stay given up after the last one', () => {
    const count = delays(() => 0).length;
    expect(nextAttemptDelayMs(count + 1, () => 0)).toBeNull();
    expect(nextAttemptDelayMs(count + 50, () => 0)).toBeNull();
  });
});
