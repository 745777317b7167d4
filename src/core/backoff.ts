interface Backoff {
  baseMs: number;
  maxMs: number;
}

/**
 * Returns the wait after a failure: `baseMs` after the first (`failures` is 0), doubled after each further one, at most
 * `maxMs`.
 */
export function backoffMs(failures: number, { baseMs, maxMs }: Backoff): number {
  return Math.min(maxMs, baseMs * 2 ** failures);
}

/**
 * Returns a random wait between half of `backoffMs` and all of it, so that callers that failed together do not retry
 * together. `random` is in [0, 1).
 */
export function jitteredBackoffMs(failures: number, backoff: Backoff, random: number): number {
  return (backoffMs(failures, backoff) / 2) * (1 + random);
}
