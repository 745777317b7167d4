/** Says what time it is; the system's clock may be set, and then steps. */
export interface WallClock {
  now(): number;
}

/** Ends what was begun, such as a timer. Doing so twice is harmless. */
export type Cancel = () => void;

/** Where the program gets the time and its timers from, so that tests can say what time it is. */
export interface Clock extends WallClock {
  /** Milliseconds from some moment on, which only grow: durations are measured by it. */
  monotonic(): number;
  /** Calls back once after `delayMs`. A timer in the `background` does not keep the process alive. */
  after(delayMs: number, call: () => void, options?: { background?: boolean }): Cancel;
}

/** Node fires a timer at once whose delay exceeds this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, call, { background = false } = {}) {
    let timer: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      const stepMs = Math.min(leftMs, LONGEST_TIMER_MS);
      timer = setTimeout(() => (stepMs === leftMs ? call() : arm(leftMs - stepMs)), stepMs);
      if (background) timer.unref();
    };
    arm(delayMs);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`; rejects with the signal's reason when it aborts before. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const drop = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', drop);
      resolve();
    });
    signal?.addEventListener('abort', drop, { once: true });
  });
}

/** Calls back every `intervalMs` in the background, until it is ended. */
export function every(clock: Clock, intervalMs: number, call: () => void): Cancel {
  const again = (): void => {
    cancel = clock.after(intervalMs, again, { background: true });
    call();
  };
  let cancel = clock.after(intervalMs, again, { background: true });
  return () => cancel();
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** ISO-8601 UTC with milliseconds, such as `2026-02-28T23:59:59.000Z`: the form of every time in the ledger. */
export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** The same to the second, as it may stand in the name of a file: `20260301T060000Z`. */
export function fileTime(epochMs: number): string {
  return `${isoTime(epochMs).replaceAll(/[-:]/g, '').slice(0, 15)}Z`;
}
