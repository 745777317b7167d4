import { type Cancel, type Clock, isoTime, systemClock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import { formatDuration } from '../core/text/words.ts';
import { RateLimitedError } from '../usage-api/errors.ts';

/** A run that stages no page for this long is aborted. */
const IDLE_MS = 5 * 60_000;

export interface RunDeadline {
  /** Aborts with a retryable `run_timeout` when the run takes too long, or makes no progress for too long. */
  readonly signal: AbortSignal;
  /** Call it at each sign of progress. */
  progress(): void;
  /** Pauses both limits while `waiting` is pending; both restart afterwards. */
  hold(waiting: Promise<void>): Promise<void>;
  stop(): void;
}

/** Limits the duration of a run, and the time without progress. Times in milliseconds. */
export function startRunDeadline(
  runMs: number,
  { idleMs = IDLE_MS, clock = systemClock }: { idleMs?: number; clock?: Clock } = {},
): RunDeadline {
  const controller = new AbortController();
  let held = 0;
  const end = (what: string): void => {
    // A paused limit restarts when the wait ends.
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
 * Calls `call` when `ms` have passed since the last restart, and again after each further `ms`. Restarting is cheap,
 * because every page does it.
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

/** Returns the latest time at which a schedule starts the next run; milliseconds since the epoch. */
export type NextSlot = (nowMs: number) => number;

/**
 * Adds the requested wait and its end to the message of a rate-limit error; returns any other error unchanged. A manual
 * run has no next slot, so the end is unknown.
 */
export function nameWait(error: unknown, nowMs: number, nextSlot?: NextSlot): unknown {
  if (!(error instanceof RateLimitedError) || error.retryAfterMs === null) return error;
  const again = nextSlot === undefined ? '' : `; the next attempt is at ${isoTime(restEndMs(error, nowMs, nextSlot))}`;
  const wait = error.retryAfterMs > YEAR_MS ? 'more than a year' : formatDuration(error.retryAfterMs);
  const message = `${error.message}; the service asks to wait for ${wait}${again}`;
  const { endpoint, status, serverMessage, retryAfterMs } = error;
  return new RateLimitedError(message, { endpoint, status, serverMessage, retryAfterMs, cause: error });
}

/**
 * Returns when a workspace is asked again after a failed run: at the time the service requested, but at the next slot
 * at the latest.
 */
export function restEndMs(error: unknown, nowMs: number, nextSlot: NextSlot, shortestMs = 0): number {
  const wished = error instanceof AppError && 'retryAfterMs' in error ? Number(error.retryAfterMs) : 0;
  return Math.min(nowMs + Math.max(wished, shortestMs), nextSlot(nowMs));
}
