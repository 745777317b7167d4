import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseRetryAfter } from '../../../src/core/net/retry.ts';
import {
  BadRequestError,
  InvalidResponseError,
  NetworkError,
  RateLimitedError,
  ServerError,
} from '../../../src/usage-api/errors.ts';
import { finalError, retryDelayMs } from '../../../src/usage-api/http/transport.ts';

const endpoint = 'workspace usage';
const policy = { retries: 4, baseMs: 100, maxRetryAfterMs: 10_000 };
const failed = (status: number, retryAfterMs: number | null = null) => ({
  error: new ServerError('x', { endpoint, status }),
  retryAfterMs,
  repeatable: true,
});

describe('the wait before another attempt', () => {
  it('doubles, is between half and all of the backoff, and has a ceiling', () => {
    expect([0, 1, 2, 3].map((attempt) => retryDelayMs(failed(503), attempt, policy, 0))).toEqual([50, 100, 200, 400]);
    expect(retryDelayMs(failed(503), 2, policy, 0.5)).toBe(300);
    expect(retryDelayMs(failed(503), 20, { ...policy, retries: 99 }, 0)).toBe(4_000);
  });

  it('is null after the last retry, for permanent statuses, and for requests that may have taken effect', () => {
    expect(retryDelayMs(failed(503), 4, policy, 0)).toBeNull();
    expect(retryDelayMs(failed(501), 0, policy, 0)).toBeNull();
    expect(retryDelayMs({ ...failed(503), repeatable: false }, 0, policy, 0)).toBeNull();
    for (const Kind of [BadRequestError, InvalidResponseError]) {
      expect(retryDelayMs({ ...failed(400), error: new Kind('x', { endpoint }) }, 0, policy, 0)).toBeNull();
    }
    expect(retryDelayMs({ ...failed(0), error: new NetworkError('x', { endpoint }) }, 0, policy, 0)).toBe(50);
  });

  it('is never shorter than Retry-After', () => {
    expect(retryDelayMs(failed(503, 3_000), 0, policy, 0)).toBe(3_000);
    expect(retryDelayMs(failed(503, 10), 0, policy, 0)).toBe(50);
  });

  it('becomes a RateLimitedError when the service asks for more than the client waits', () => {
    const long = failed(503, 10_001);
    expect(retryDelayMs(long, 0, policy, 0)).toBeNull();
    const error = finalError(long, policy);
    expect(error).toBeInstanceOf(RateLimitedError);
    expect(error).toMatchObject({ code: 'rate_limited', status: 503, retryAfterMs: 10_001, retryable: true });
    expect(finalError(failed(503, 5), policy)).toBeInstanceOf(ServerError);
  });
});

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
