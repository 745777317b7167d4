import { type Clock, every } from './clock.ts';
import { summarizeError } from './errors.ts';
import type { Logger } from './logger.ts';
import { oneAtATime } from './one-at-a-time.ts';

export interface PeriodicTaskOptions {
  clock: Clock;
  logger: Logger;
  intervalMs: number;
  /** Begins at once, and not only when the first interval is over. */
  atOnce?: boolean;
  /** What the log says when the work fails; the next interval tries again. */
  failed: string;
  /** `stopping` is aborted by the stop: work that takes long ends early. */
  work(stopping: AbortSignal): Promise<void>;
}

/** Work that is done every interval and never twice at once. After the stop it is not done any more. */
export interface PeriodicTask {
  /** Does the work now, or joins that under way. Never rejects. */
  run(): Promise<void>;
  /** Does it behind that under way, which may have looked too early. Never rejects. */
  again(): Promise<void>;
  /** Ends the intervals and waits for the work under way. May be called twice. */
  stop(): Promise<void>;
}

export function startPeriodicTask(options: PeriodicTaskOptions): PeriodicTask {
  const { clock, logger, intervalMs, atOnce = false, failed, work } = options;
  const stopping = new AbortController();
  const { run, again, rest } = oneAtATime(async () => {
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
    again,
    async stop() {
      stopping.abort();
      cancel();
      await rest();
    },
  };
}
