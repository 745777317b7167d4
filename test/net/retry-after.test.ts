import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseRetryAfter } from '../../src/net/retry-after.ts';

describe('Retry-After', () => {
  const { TZ } = process.env;
  // None of its forms is a local time.
  beforeAll(() => {
    process.env.TZ = 'America/New_York';
  });
  afterAll(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });

  const nowMs = Date.parse('2026-02-01T00:00:00Z');
  it.each([
    ['3', 3_000],
    ['0', 0],
    ['0.5', 500],
    ['Sun, 01 Feb 2026 00:00:07 GMT', 7_000],
    ['Sat, 31 Jan 2026 00:00:00 GMT', 0],
    ['Sunday, 01-Feb-26 00:00:07 GMT', 7_000],
    ['Sun Feb  1 00:00:07 2026', 7_000],
    ['-1', null],
    ['soon', null],
    ['', null],
    [null, null],
  ])('of %j is %j ms', (header, expected) => {
    expect(parseRetryAfter(header, nowMs)).toBe(expected);
  });
});
