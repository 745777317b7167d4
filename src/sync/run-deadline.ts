import { type Cancel, type Clock, isoTime, systemClock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { formatDuration } from '../core/text/words.ts';
import { RateLimitedError } from '../usage-api/errors.ts';

/** A run is aborted if no page is staged for this long. */
const IDLE_MS = 5 * 60_000;

/** The two time limits of a run: one for the whole run, one for the time between pages. */
export interface RunDeadline {
  /** Aborts with the retryable error `run_timeout` when a limit is exceeded. */
  readonly signal: AbortSignal;
  /** Restarts the limit for the time between pages. Call it for each page. */
  progress(): void;
  /** Waits for `waiting`. The two time limits do not apply during the wait, and start from zero after it. */
  hold(waiting: Promise<void>): Promise<void>;
  stop(): void;
}

/** Starts the time limits of a run: `runMs` for the whole run, `idleMs` for the time between pages. */
export function startRunDeadline(
  runMs: number,
  { idleMs = IDLE_MS, clock = systemClock }: { idleMs?: number; clock?: Clock } = {},
): RunDeadline {
  const controller = new AbortController();
  let held = 0;
  const end = (what: string): void => {
    // The limits do not end the run during a wait. `hold` restarts both afterwards.
    if (held > 0) return;
    const hint = 'nothing was applied; the slot is tried again. `run_minutes` limits how long a run may take';
    controller.abort(new AppError('run_timeout', what, { retryable: true, hint }));
  };
  const whole = watchFor(clock, runMs, () => end(`the run took longer than ${inMinutes(runMs)}`));
  const idle = watchFor(clock, idleMs, () => end(`no page arrived for ${inMinutes(idleMs)}`));
  return {
    signal: controller.signal,
    progress: idle.restart,
    async hold(waiting) {
      held += 1;
      try {
        await waiting;
      } finally {
        held -= 1;
        whole.restart();
        idle.restart();
      }
    },
    stop() {
      whole.stop();
      idle.stop();
    },
  };
}

/**
 * Calls `call` when `ms` milliseconds have passed since the last restart, and again after each further `ms`. A restart
 * only stores a time and sets no timer, because it happens for each page.
 */
function watchFor(clock: Clock, ms: number, call: () => void): { restart(): void; stop: Cancel } {
  let endsMs = clock.monotonic() + ms;
  const look = (): void => {
    const leftMs = endsMs - clock.monotonic();
    cancel = clock.after(leftMs > 0 ? leftMs : ms, look);
    if (leftMs <= 0) call();
  };
  let cancel = clock.after(ms, look);
  return {
    restart() {
      endsMs = clock.monotonic() + ms;
    },
    stop: () => cancel(),
  };
}

function inMinutes(ms: number): string {
  return ms < 60_000 ? `${ms} ms` : `${Math.round(ms / 60_000)} minutes`;
}

const YEAR_MS = 366 * 24 * 60 * 60_000;

/**
 * Returns the time of the next run on the schedule after `nowMs`, in milliseconds since the epoch. If that time is not
 * known exactly, returns the latest one possible.
 */
export type NextSlot = (nowMs: number) => number;

/**
 * Adds two facts to the message of a rate-limit error: how long the service asks to wait, and when the next attempt is.
 * A manual run has no `nextSlot`, so only the wait is added. Any other error is returned unchanged.
 */
export function addWaitToMessage(error: unknown, nowMs: number, nextSlot?: NextSlot): unknown {
  if (!(error instanceof RateLimitedError) || error.retryAfterMs === null) return error;
  const again =
    nextSlot === undefined ? '' : `; the next attempt is at ${isoTime(nextAttemptMs(error, nowMs, nextSlot))}`;
  const wait = error.retryAfterMs > YEAR_MS ? 'more than a year' : formatDuration(error.retryAfterMs);
  const message = `${error.message}; the service asks to wait for ${wait}${again}`;
  const { endpoint, status, serverMessage, retryAfterMs } = error;
  return new RateLimitedError(message, { endpoint, status, serverMessage, retryAfterMs, cause: error });
}

/**
 * Returns when a workspace is synced again after a failed run, in milliseconds since the epoch. This is after the wait
 * that the service requested, or after `shortestMs` if that is longer, but at the next scheduled time at the latest.
 */
export function nextAttemptMs(error: unknown, nowMs: number, nextSlot: NextSlot, shortestMs = 0): number {
  const wished = error instanceof AppError && 'retryAfterMs' in error ? Number(error.retryAfterMs) : 0;
  return Math.min(nowMs + Math.max(wished, shortestMs), nextSlot(nowMs));
}
