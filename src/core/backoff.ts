interface Backoff {
  baseMs: number;
  maxMs: number;
}

/** The wait after failure number `failures`, counted from 0. */
export function backoffMs(failures: number, { baseMs, maxMs }: Backoff): number {
  return Math.min(maxMs, baseMs * 2 ** failures);
}

/**
 * As `backoffMs`, but half of the wait is random, so that those who failed together do not come back together. `random`
 * is in [0, 1).
 */
export function jitteredBackoffMs(failures: number, backoff: Backoff, random: number): number {
  return (backoffMs(failures, backoff) / 2) * (1 + random);
}
