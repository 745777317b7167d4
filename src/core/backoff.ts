interface Backoff {
  baseMs: number;
  maxMs: number;
}

/**
 * Returns the wait after a failure, in milliseconds: `baseMs` after the first failure (`failures` is 0), twice as long
 * after each further failure, at most `maxMs`.
 */
export function backoffMs(failures: number, { baseMs, maxMs }: Backoff): number {
  return Math.min(maxMs, baseMs * 2 ** failures);
}

/**
 * Returns a random wait between half of `backoffMs` and the whole of it, so that callers that failed at the same time
 * do not retry at the same time. `random` is in [0, 1).
 */
export function jitteredBackoffMs(failures: number, backoff: Backoff, random: number): number {
  return (backoffMs(failures, backoff) / 2) * (1 + random);
}
