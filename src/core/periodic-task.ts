import { type Clock, every, systemClock } from './clock.ts';
import { settlesWithin } from './deadline.ts';
import { MINUTE_MS } from './durations.ts';
import { AppError, summarizeError } from './errors.ts';
import type { Logger } from './logger.ts';
import { oneAtATime } from './one-at-a-time.ts';
import { formatDuration } from './text/words.ts';

/** A run of a task is aborted after this time, unless the task sets its own `deadlineMs`. */
const DEFAULT_DEADLINE_MS = 5 * MINUTE_MS;
/**
 * `stop` waits at most this long for the current run. The waits of all parts of a shutdown together must be shorter
 * than pm2's kill_timeout.
 */
const STOP_WAIT_MS = 2_000;
const TIMED_OUT = 'task_timed_out';

export interface PeriodicTaskOptions {
  clock: Clock;
  logger: Logger;
  intervalMs: number;
  /** True if the work runs immediately, and not only after the first interval. */
  atOnce?: boolean;
  /**
   * A run is aborted after this time. The time is measured by the system clock even if `clock` is simulated, because a
   * system call that hangs does not follow a simulated clock.
   */
  deadlineMs?: number;
  /** The log message for a failure. The work is tried again at the next interval. */
  failed: string;
  /** Does the work. `signal` aborts on stop and at the deadline; `hasTimedOut` distinguishes the two cases. */
  work(signal: AbortSignal): Promise<void>;
}

/** Work that runs at every interval, never overlaps itself, and does not start again after `stop`. */
export interface PeriodicTask {
  /** Starts the work now, or waits for the current run if there is one. Never rejects. */
  run(): Promise<void>;
  /**
   * Runs the work again after the current run, because that run may have read its inputs before they changed. Never
   * rejects.
   */
  rerun(): Promise<void>;
  /**
   * Ends the repetition, aborts the current run, and waits at most two seconds until the run ends. May be called twice.
   */
  stop(): Promise<void>;
}

export function startPeriodicTask(options: PeriodicTaskOptions): PeriodicTask {
  const { clock, logger, intervalMs, atOnce = false, deadlineMs = DEFAULT_DEADLINE_MS, failed, work } = options;
  const stopping = new AbortController();
  const { run, rerun, waitUntilIdle } = oneAtATime(async () => {
    if (stopping.signal.aborted) return;
    const limit = startLimit(stopping.signal, deadlineMs);
    try {
      await work(limit.signal);
    } catch (error) {
      const { code, message } = summarizeError(error);
      logger.warn({ code, reason: message }, failed);
    } finally {
      limit.release();
    }
  });
  const cancel = every(clock, intervalMs, () => void run());
  if (atOnce) void run();
  return {
    run,
    rerun,
    async stop() {
      stopping.abort();
      cancel();
      if (!(await settlesWithin(waitUntilIdle(), STOP_WAIT_MS)))
        logger.warn(
          { reason: `the task did not end within ${formatDuration(STOP_WAIT_MS)} after it was stopped` },
          failed,
        );
    },
  };
}

/** Reports whether the run's deadline aborted this signal. False if a stop aborted it. */
export function hasTimedOut({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof AppError && reason.code === TIMED_OUT;
}

function startLimit(stopping: AbortSignal, deadlineMs: number): { signal: AbortSignal; release(): void } {
  const limit = new AbortController();
  const onStop = (): void => limit.abort(stopping.reason);
  stopping.addEventListener('abort', onStop, { once: true });
  const onDeadline = (): void => {
    const message = `the task did not finish within ${formatDuration(deadlineMs)}`;
    limit.abort(new AppError(TIMED_OUT, message, { retryable: true }));
  };
  const cancel = systemClock.after(deadlineMs, onDeadline, { background: true });
  const release = (): void => {
    cancel();
    stopping.removeEventListener('abort', onStop);
  };
  return { signal: limit.signal, release };
}
