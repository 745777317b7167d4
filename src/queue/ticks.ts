import { createHash } from 'node:crypto';
import { schedule } from 'node-cron';
import type { Cancel, Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';

export interface TickOptions {
  logger: Logger;
  /** Called each minute; `minuteMs` is in milliseconds since the epoch. */
  tick(minuteMs: number): Promise<void>;
  /** Called when ticks were skipped, for example because the process was blocked. */
  missed(): void;
}

/**
 * A function that starts one tick per minute. It returns the function that stops them without waiting for a running
 * tick.
 */
export type StartTicks = (options: TickOptions) => () => Promise<void>;

export const startCronTicks: StartTicks = ({ logger, tick, missed }) => {
  const logDebug = (message: string | Error): void => logger.debug({ reason: String(message) }, 'node-cron');
  const call = ({ date }: { date: Date }): Promise<void> => tick(Math.floor(date.getTime() / 1000) * 1000);
  const logging = { info: logDebug, warn: logDebug, error: logDebug, debug: logDebug };
  const task = schedule('* * * * *', call, { timezone: 'UTC', name: 'every minute', logger: logging });
  // node-cron does not make up for skipped ticks, so `missed` must.
  task.on('execution:missed', missed);
  return async () => {
    await task.destroy();
  };
};

/** Each entry with the same schedule extends the range of their delays by this much. */
const SPREAD_PER_ENTRY_MS = 1000;
const MAX_SPREAD_MS = 5 * 60_000;
const UINT32_RANGE = 2 ** 32;

/**
 * Returns the delay of an entry after its slot, in milliseconds, so that many entries with the same schedule do not
 * start at once. An entry always has the same position among the others, because that depends only on its name. An
 * entry with a schedule of its own starts without delay. `intervalMs` is the time between two slots; no delay exceeds
 * half of it.
 */
export function startDelayMs(key: string, entriesOnCron: number, intervalMs: number): number {
  if (entriesOnCron < 2) return 0;
  const spreadMs = Math.min(entriesOnCron * SPREAD_PER_ENTRY_MS, intervalMs / 2, MAX_SPREAD_MS);
  const position = createHash('sha256').update(key, 'utf16le').digest().readUInt32BE(0) / UINT32_RANGE;
  return Math.floor(position * spreadMs);
}

export type DelayTimers = ReturnType<typeof createDelayTimers>;

/**
 * Creates timers for delayed entries, by key. They use the monotonic clock, so setting the wall clock does not affect
 * them.
 */
export function createDelayTimers(clock: Clock) {
  const planned = new Map<string, Cancel>();
  let ended = false;
  return {
    /** Calls `begin` after `waitMs`, unless a call for the same key is already planned. */
    plan(key: string, waitMs: number, begin: () => void): void {
      if (ended || planned.has(key)) return;
      const turn = (): void => {
        planned.delete(key);
        begin();
      };
      planned.set(key, clock.after(waitMs, turn, { background: true }));
    },
    end(): void {
      ended = true;
      for (const cancel of planned.values()) cancel();
    },
  };
}
