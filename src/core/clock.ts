/**
 * The system clock. `now` returns milliseconds since the epoch. The time can jump forwards or backwards, because an
 * operator may set the clock.
 */
export interface WallClock {
  now(): number;
}

/** Stops a timer. Calling this function again has no effect. */
export type Cancel = () => void;

/** The program's source of time and timers. Tests replace it with a clock that they control. */
export interface Clock extends WallClock {
  /**
   * Returns the milliseconds since an arbitrary start. The value never decreases, so the difference of two values is a
   * duration.
   */
  monotonic(): number;
  /** Calls `call` once after `delayMs`. A `background` timer does not keep the process alive. */
  after(delayMs: number, call: () => void, options?: { background?: boolean }): Cancel;
}

/** The longest delay that `setTimeout` accepts. Node fires a timer with a longer delay immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(delayMs, call, { background = false } = {}) {
    let timer: NodeJS.Timeout;
    const arm = (leftMs: number): void => {
      const stepMs = Math.min(leftMs, MAX_TIMER_MS);
      timer = setTimeout(() => (stepMs === leftMs ? call() : arm(leftMs - stepMs)), stepMs);
      if (background) timer.unref();
    };
    arm(delayMs);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`. If the signal aborts first, rejects with the signal's reason. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Calls `call` every `intervalMs` until the returned function is called. The timer does not keep the process alive. */
export function every(clock: Clock, intervalMs: number, call: () => void): Cancel {
  const again = (): void => {
    cancel = clock.after(intervalMs, again, { background: true });
    call();
  };
  let cancel = clock.after(intervalMs, again, { background: true });
  return () => cancel();
}

/** Resolves in the next turn of the event loop, so that other work can run first. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Returns an async function to call in each step of a long loop. The function usually returns at once. Only if it has
 * not paused for `ms` milliseconds, it pauses the loop until the next turn of the event loop, so that the process can
 * answer requests meanwhile. A pause in every step would take longer than the steps themselves.
 */
export function pauseEvery(ms: number, { monotonic }: Pick<Clock, 'monotonic'> = systemClock): () => Promise<void> {
  let sinceMs = monotonic();
  return async () => {
    if (monotonic() - sinceMs < ms) return;
    await nextTurn();
    sinceMs = monotonic();
  };
}

/**
 * Formats a time as ISO-8601 UTC with milliseconds, such as `2026-02-28T23:59:59.000Z`. The ledger stores every time in
 * this form.
 */
export function isoTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Formats a time for file names, to the second: `20260301T060000Z`. */
export function fileTime(epochMs: number): string {
  return `${isoTime(epochMs).replaceAll(/[-:]/g, '').slice(0, 15)}Z`;
}
