import { setTimeout as sleep } from 'node:timers/promises';

/** Waits until the next request may be sent; rejects when the signal aborts. */
export type Pacer = (signal: AbortSignal) => Promise<void>;

/** Timers are no finer than this, so shorter waits are saved up instead of slept. */
const SHORTEST_SLEEP_MS = 2;
/** Requests that may follow at once after a pause. */
const BURST_MS = 100;

/** Spaces requests evenly so that there are at most `perSecond` of them, over any number of callers. */
export function createPacer(perSecond: number): Pacer {
  const intervalMs = 1000 / perSecond;
  let nextMs = 0;
  return async (signal) => {
    const nowMs = performance.now();
    nextMs = Math.max(nextMs, nowMs - BURST_MS) + intervalMs;
    const waitMs = nextMs - nowMs - intervalMs;
    if (waitMs >= SHORTEST_SLEEP_MS) await sleep(waitMs, undefined, { signal });
  };
}
