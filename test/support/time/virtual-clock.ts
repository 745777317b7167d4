import type { Clock } from '../../../src/core/clock.ts';

/** A clock whose time passes only when a test says so. */
export interface VirtualClock extends Clock {
  /** Lets `ms` pass; timers that are due call back in their order, and what they began gets its turn between them. */
  advance(ms: number): Promise<void>;
  /** Goes to the next timer that is due by `endMs` of `monotonic` and calls it back; false when there is none. */
  fireNext(endMs: number): Promise<boolean>;
  /** Timers that have not called back yet. */
  readonly waiting: number;
  /** Sets the wall clock forward or, negative, back; timers do not notice. */
  step(ms: number): void;
}

interface Timer {
  id: number;
  atMs: number;
  call: () => void;
}

export function createVirtualClock(startMs: number): VirtualClock {
  const timers = new Map<number, Timer>();
  let elapsedMs = 0;
  let offsetMs = startMs;
  let nextId = 0;
  const next = (): Timer | undefined => {
    let first: Timer | undefined;
    for (const timer of timers.values()) if (first === undefined || timer.atMs < first.atMs) first = timer;
    return first;
  };
  const fireNext = async (endMs: number): Promise<boolean> => {
    const due = next();
    if (due === undefined || due.atMs > endMs) return false;
    timers.delete(due.id);
    elapsedMs = due.atMs;
    due.call();
    await settled();
    return true;
  };
  return {
    now: () => Math.floor(offsetMs + elapsedMs),
    monotonic: () => elapsedMs,
    after(delayMs, call) {
      const id = nextId++;
      timers.set(id, { id, atMs: elapsedMs + Math.max(0, delayMs), call });
      return () => {
        timers.delete(id);
      };
    },
    get waiting() {
      return timers.size;
    },
    fireNext,
    async advance(ms) {
      const endMs = elapsedMs + ms;
      await settled();
      while (await fireNext(endMs));
      elapsedMs = endMs;
    },
    step(ms) {
      offsetMs += ms;
    },
  };
}

/** Promises that wait for nothing but each other have run. */
export function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
