import { setMaxListeners } from 'node:events';
import { type Clock, sleep } from '../../core/clock.ts';
import { jitteredBackoffMs } from '../../core/net/retry.ts';
import {
  type ApiError,
  CancelledError,
  type EndpointLabel,
  NetworkError,
  RateLimitedError,
  ServerError,
  TimeoutError,
} from '../errors.ts';

/** Exponential backoff never waits longer than this. */
const MAX_BACKOFF_MS = 8_000;
const RETRIED_STATUSES = new Set([429, 500, 502, 503, 504]);

export interface RetryPolicy {
  /** Attempts after the first one. */
  retries: number;
  /** The first backoff; each further one is twice as long, up to 8 s. */
  baseMs: number;
  /** A longer Retry-After is not waited for here. */
  maxRetryAfterMs: number;
}

/** A failed attempt: its error, what the service asked for, and whether the same request may be sent again. */
export interface FailedAttempt {
  error: ApiError;
  retryAfterMs: number | null;
  /** False for a request that is not idempotent, unless it certainly never left this machine. */
  repeatable: boolean;
}

/**
 * Milliseconds to wait before the next attempt; null when there is none. `attempt` counts from 0, `random` is in [0, 1).
 * Half of a backoff is random, so that clients that failed together do not come back together.
 */
export function retryDelayMs(
  failed: FailedAttempt,
  attempt: number,
  policy: RetryPolicy,
  random: number,
): number | null {
  if (!failed.repeatable || attempt >= policy.retries || !isTransient(failed.error)) return null;
  const jitteredMs = jitteredBackoffMs(attempt, { baseMs: policy.baseMs, maxMs: MAX_BACKOFF_MS }, random);
  if (failed.retryAfterMs === null) return jitteredMs;
  return failed.retryAfterMs > policy.maxRetryAfterMs ? null : Math.max(failed.retryAfterMs, jitteredMs);
}

/**
 * What the caller gets when no further attempt is made: a wait too long for the client becomes a RateLimitedError,
 * whatever the status was, so that the queue can wait it out.
 */
export function finalError(failed: FailedAttempt, policy: RetryPolicy): ApiError {
  const { error, retryAfterMs } = failed;
  const waits = retryAfterMs !== null && retryAfterMs > policy.maxRetryAfterMs && isTransient(error);
  if (!waits || error instanceof RateLimitedError) return error;
  const { endpoint, status, serverMessage, message } = error;
  return new RateLimitedError(message, { endpoint, status, serverMessage, retryAfterMs, cause: error });
}

function isTransient(error: ApiError): boolean {
  if (error instanceof NetworkError || error instanceof TimeoutError) return true;
  const answered = error instanceof RateLimitedError || error instanceof ServerError;
  return answered && error.status !== null && RETRIED_STATUSES.has(error.status);
}

/** Waits; ends at once with CancelledError when the signal aborts. */
export async function waitFor(
  clock: Clock,
  ms: number,
  endpoint: EndpointLabel,
  signal: AbortSignal | undefined,
): Promise<void> {
  // One signal may end any number of calls that wait: more than ten listeners are no leak.
  if (signal !== undefined) setMaxListeners(0, signal);
  try {
    await sleep(clock, ms, signal);
  } catch {
    throw new CancelledError(endpoint, signal?.reason);
  }
}
