import type { Clock } from '../../../src/core/clock.ts';

/** A clock whose time passes only when a test says so. */
export interface VirtualClock extends Clock {
  /** Lets `ms` pass; timers that are due call back in their order, and what they began gets its turn between them. */
  advance(ms: number): Promise<void>;
  /** Timers that have not called back yet. */
  readonly waiting: number;
  /** Sets the wall clock forward or, negative, back; timers do not notice. */
  step(ms: number): void;
}

export function createVirtualClock(startMs: number): VirtualClock {
  const timers = new Map<number, { atMs: number; call: () => void }>();
  let elapsedMs = 0;
  let offsetMs = startMs;
  let nextId = 0;
  const firstUntil = (endMs: number): [number, { atMs: number; call: () => void }] | undefined =>
    [...timers].filter(([, { atMs }]) => atMs <= endMs).sort(([i, a], [j, b]) => a.atMs - b.atMs || i - j)[0];
  return {
    now: () => offsetMs + elapsedMs,
    monotonic: () => elapsedMs,
    after(delayMs, call) {
      const id = nextId++;
      timers.set(id, { atMs: elapsedMs + Math.max(0, delayMs), call });
      return () => {
        timers.delete(id);
      };
    },
    get waiting() {
      return timers.size;
    },
    async advance(ms) {
      const endMs = elapsedMs + ms;
      await settled();
      for (let due = firstUntil(endMs); due !== undefined; due = firstUntil(endMs)) {
        const [id, { atMs, call }] = due;
        timers.delete(id);
        elapsedMs = atMs;
        call();
        await settled();
      }
      elapsedMs = endMs;
    },
    step(ms) {
      offsetMs += ms;
    },
  };
}

/** Promises that wait for nothing but each other have run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
