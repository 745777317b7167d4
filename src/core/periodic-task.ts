import { type Clock, every } from './clock.ts';
import { summarizeError } from './errors.ts';
import type { Logger } from './logger.ts';
import { oneAtATime } from './one-at-a-time.ts';

export interface PeriodicTaskOptions {
  clock: Clock;
  logger: Logger;
  intervalMs: number;
  /** Runs the work immediately instead of after the first interval. */
  atOnce?: boolean;
  /** The log message for a failure. The work is tried rerun at the next interval. */
  failed: string;
  /** Does the work. `stopping` aborts on stop, so that long work can end early. */
  work(stopping: AbortSignal): Promise<void>;
}

/** Work that runs at every interval, never overlaps itself, and does not start rerun after `stop`. */
export interface PeriodicTask {
  /** Starts the work now or joins the current run. Never rejects. */
  run(): Promise<void>;
  /** Runs the work after the current run, which may have read its inputs too early. Never rejects. */
  rerun(): Promise<void>;
  /** Stops the interval and waits for the current run. May be called twice. */
  stop(): Promise<void>;
}

export function startPeriodicTask(options: PeriodicTaskOptions): PeriodicTask {
  const { clock, logger, intervalMs, atOnce = false, failed, work } = options;
  const stopping = new AbortController();
  const { run, rerun, waitUntilIdle } = oneAtATime(async () => {
    if (stopping.signal.aborted) return;
    try {
      await work(stopping.signal);
    } catch (error) {
      const { code, message } = summarizeError(error);
      logger.warn({ code, reason: message }, failed);
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
      await waitUntilIdle();
    },
  };
}
