import type { StaleCheck } from '../alerts/evaluate/evaluate-self.ts';
import { summarizeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';

const CHECK_INTERVAL_MS = 60_000;

export interface StaleWatchOptions {
  /** The workspaces that are stale now. */
  stale(): StaleCheck[];
  /** Writes the alerts down; resolves with how many notifications there are. */
  raise(workspaces: StaleCheck[]): Promise<number>;
  /** Looks after the notifications. */
  afterRaise(): Promise<void>;
  logger: Logger;
}

export interface StaleWatch {
  /** One look; resolves when what it found is written down. Never rejects. */
  check(): Promise<void>;
  stop(): Promise<void>;
}

/** Looks every minute for workspaces without a complete run. No run can do that: it is about runs that do not come. */
export function startStaleWatch(options: StaleWatchOptions): StaleWatch {
  let running: Promise<void> | null = null;
  const look = async (): Promise<void> => {
    try {
      const workspaces = options.stale();
      if (workspaces.length > 0 && (await options.raise(workspaces)) > 0) await options.afterRaise();
    } catch (error) {
      const { code, message } = summarizeError(error);
      options.logger.warn({ code, reason: message }, 'stale workspaces could not be looked for');
    }
  };
  const check = (): Promise<void> => {
    running ??= look().finally(() => {
      running = null;
    });
    return running;
  };
  const timer = setInterval(() => void check(), CHECK_INTERVAL_MS);
  timer.unref();
  return {
    check,
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
