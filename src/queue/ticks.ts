import { createHash } from 'node:crypto';
import { schedule } from 'node-cron';
import type { Cancel, Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';

export interface TickOptions {
  logger: Logger;
  /** Called each minute; `minuteMs` is in milliseconds since the epoch. */
  tick(minuteMs: number): Promise<void>;
  /** Called when ticks were skipped, as by a blocked process. */
  missed(): void;
}

/** Starts a tick per minute. Returns the function that stops them, which does not wait for a running tick. */
export type StartTicks = (options: TickOptions) => () => Promise<void>;

export const startCronTicks: StartTicks = ({ logger, tick, missed }) => {
  const logDebug = (message: string | Error): void => logger.debug({ reason: String(message) }, 'node-cron');
  const call = ({ date }: { date: Date }): Promise<void> => tick(Math.floor(date.getTime() / 1000) * 1000);
  const logging = { info: logDebug, warn: logDebug, error: logDebug, debug: logDebug };
  const task = schedule('* * * * *', call, { timezone: 'UTC', name: 'every minute', logger: logging });
  // node-cron does not repeat skipped ticks.
  task.on('execution:missed', missed);
  return async () => {
    await task.destroy();
  };
};

/** The spread grows by this much per entry. */
const SPREAD_PER_ENTRY_MS = 1000;
const MAX_SPREAD_MS = 5 * 60_000;
const UINT32_RANGE = 2 ** 32;

/**
 * Returns the delay of an entry after its tick, in milliseconds, so that many entries with one cron do not start at
 * once. It depends only on the entry's name and is stable; an entry alone on its cron starts at its tick. `intervalMs`
 * is the time between two slots, and no entry is delayed by more than half of it.
 */
export function offsetMs(key: string, entriesOnCron: number, intervalMs: number): number {
  if (entriesOnCron < 2) return 0;
  const spreadMs = Math.min(entriesOnCron * SPREAD_PER_ENTRY_MS, intervalMs / 2, MAX_SPREAD_MS);
  const position = createHash('sha256').update(key, 'utf16le').digest().readUInt32BE(0) / UINT32_RANGE;
  return Math.floor(position * spreadMs);
}

export type SpreadTimers = ReturnType<typeof createSpreadTimers>;

/** Creates timers for delayed entries. They follow the monotonic clock, so no change of the wall clock moves them. */
export function createSpreadTimers(clock: Clock) {
  const planned = new Map<string, Cancel>();
  let ended = false;
  return {
    /** Calls `begin` after `waitMs`, unless a call is planned for the key. */
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
