import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { inOneUnit } from '../core/text/duration.ts';
import { RateLimitedError } from '../usage-api/errors.ts';

const YEAR_MS = 366 * 24 * 60 * 60_000;

/** When a schedule asks again at the latest, both in milliseconds since the epoch. */
export type NextSlot = (nowMs: number) => number;

/**
 * A run's error in which the service wants us to stay away, in words that name the wait and its end; any other as it is. A
 * run by hand has no next slot (null), and only whoever calls it knows when it is asked again.
 */
export function nameWait(error: unknown, nowMs: number, nextSlot: NextSlot | null): unknown {
  if (!(error instanceof RateLimitedError) || error.retryAfterMs === null) return error;
  const again = nextSlot === null ? '' : `; it is asked again from ${isoTime(restEndMs(error, nowMs, nextSlot))} on`;
  const wait = error.retryAfterMs > YEAR_MS ? 'more than a year' : inOneUnit(error.retryAfterMs);
  const message = `${error.message}; the service wants no request for ${wait}${again}`;
  const { endpoint, status, serverMessage, retryAfterMs } = error;
  return new RateLimitedError(message, { endpoint, status, serverMessage, retryAfterMs, cause: error });
}

/** When a workspace is asked again after a failed run: as the service wishes, but with the next slot at the latest. */
export function restEndMs(error: unknown, nowMs: number, nextSlot: NextSlot, shortestMs = 0): number {
  const wished = error instanceof AppError && 'retryAfterMs' in error ? Number(error.retryAfterMs) : 0;
  return Math.min(nowMs + Math.max(wished, shortestMs), nextSlot(nowMs));
}
