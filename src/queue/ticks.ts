import { createHash } from 'node:crypto';
import { schedule } from 'node-cron';
import type { Cancel, Clock } from '../core/clock.ts';
import type { Logger } from '../core/logger.ts';

export interface TickOptions {
  logger: Logger;
  /** Called at each minute, which is milliseconds since the epoch. */
  tick(minuteMs: number): Promise<void>;
  /** Called when some were left out, as by a process that was blocked. */
  missed(): void;
}

/** Begins a tick a minute; returns what ends them, which does not wait for one under way. */
export type StartTicks = (options: TickOptions) => () => Promise<void>;

export const startCronTicks: StartTicks = ({ logger, tick, missed }) => {
  const quiet = (message: string | Error): void => logger.debug({ reason: String(message) }, 'node-cron');
  const call = ({ date }: { date: Date }): Promise<void> => tick(Math.floor(date.getTime() / 1000) * 1000);
  const logging = { info: quiet, warn: quiet, error: quiet, debug: quiet };
  const task = schedule('* * * * *', call, { timezone: 'UTC', name: 'every minute', logger: logging });
  // node-cron does not make up for them.
  task.on('execution:missed', missed);
  return async () => {
    await task.destroy();
  };
};

/** Room that each entry gets in time. */
const ROOM_MS = 1000;
const LONGEST_SPREAD_MS = 5 * 60_000;
const SPACE = 2 ** 32;

/**
 * How long after its tick an entry is carried out, in milliseconds, so that many entries with one cron do not come at
 * once. It depends on the entry's name and stays the same; alone on its cron an entry comes at its tick. `paceMs` lies
 * between two slots, and no entry is put off by more than half of it.
 */
export function offsetMs(key: string, entriesOnCron: number, paceMs: number): number {
  if (entriesOnCron < 2) return 0;
  const spreadMs = Math.min(entriesOnCron * ROOM_MS, paceMs / 2, LONGEST_SPREAD_MS);
  const position = createHash('sha256').update(key, 'utf16le').digest().readUInt32BE(0) / SPACE;
  return Math.floor(position * spreadMs);
}

export type SpreadTimers = ReturnType<typeof createSpreadTimers>;

/** Turns that are still to come, by timers: no step of the clock moves them. */
export function createSpreadTimers(clock: Clock) {
  const planned = new Map<string, Cancel>();
  let ended = false;
  return {
    /** Begins after `waitMs`, unless the entry's turn is planned already. */
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
