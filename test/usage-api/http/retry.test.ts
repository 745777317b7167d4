import { describe, expect, it } from 'vitest';
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
