import { type ScheduledTask, schedule } from 'node-cron';
import { type Clock, isoTime } from '../core/clock.ts';
import { summarizeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { dueSlot, tickExpressions } from './slots.ts';

/** Missed slots are noticed within a minute: the shortest interval that a five-field expression can name. */
const CATCH_UP_INTERVAL_MS = 60_000;

/** Something to enqueue at the times of a cron expression, which is in UTC. */
export interface ScheduleEntry {
  /** Names the entry in logs. */
  key: string;
  cron: string;
}

export interface SchedulerOptions<E extends ScheduleEntry> {
  entries: readonly E[];
  /** Enqueues one slot, an ISO time of whole seconds. The same slot may come again: its job must be the same then. */
  enqueue(entry: E, slot: string): Promise<unknown>;
  /** The latest slot of the entry that the ledger knows, an ISO time; null when it never ran. */
  lastSlot(entry: E): string | null;
  /** Subscribes to the end of Redis outages; returns what ends the subscription. */
  onRedisBack(listener: () => void): () => void;
  clock: Clock;
  logger: Logger;
}

export interface Scheduler {
  /** Enqueues the latest slot of every entry whose last slot in the ledger is older: once, not once per missed tick. */
  catchUp(): Promise<void>;
  /** Ends all ticks and waits for what is being enqueued. May be called twice. */
  stop(): Promise<void>;
}

/**
 * Starts the ticks, and catches up at once, when Redis is back and each minute. It only enqueues. What cannot be enqueued
 * is logged and stays due: the ledger does not know the slot, so catching up finds it.
 */
export function startScheduler<E extends ScheduleEntry>(options: SchedulerOptions<E>): Scheduler {
  const { entries, clock, logger } = options;
  const running = new Set<Promise<void>>();
  let stopped = false;
  let catchingUp: Promise<void> | null = null;

  const track = (work: Promise<void>): Promise<void> => {
    running.add(work);
    return work.finally(() => running.delete(work));
  };

  /** False when enqueueing fails for now, whatever the slot. */
  const enqueue = async (entry: E, slot: string): Promise<boolean> => {
    try {
      await options.enqueue(entry, slot);
      return true;
    } catch (error) {
      const { code, message, retryable } = summarizeError(error);
      logger.warn({ entry: entry.key, slot, code, reason: message }, 'slot not enqueued, it will be caught up');
      return !retryable;
    }
  };

  const catchUpAll = async (): Promise<void> => {
    for (const entry of entries) {
      if (stopped) return;
      const slot = dueOf(entry);
      // What keeps one slot out keeps the others out, too, and each would wait for its own deadline.
      if (slot !== null && !(await enqueue(entry, slot))) return;
    }
  };
  const dueOf = (entry: E): string | null => {
    try {
      return dueSlot(entry.cron, options.lastSlot(entry), clock.now());
    } catch (error) {
      logger.error({ entry: entry.key, reason: summarizeError(error).message }, 'cannot tell whether a slot is due');
      return null;
    }
  };
  const catchUp = (): Promise<void> => {
    catchingUp ??= track(catchUpAll()).finally(() => {
      catchingUp = null;
    });
    return catchingUp;
  };

  const tasks = entries.flatMap((entry) =>
    tickExpressions(entry.cron).map((expression) =>
      startTask(entry, expression, logger, async (slot) => {
        if (!stopped) await track(enqueue(entry, slot).then(() => undefined));
      }),
    ),
  );
  // A blocked process misses ticks, and node-cron does not make up for them.
  for (const task of tasks) task.on('execution:missed', () => void catchUp());
  const timer = setInterval(() => void catchUp(), CATCH_UP_INTERVAL_MS);
  const unsubscribe = options.onRedisBack(() => {
    // A pass that began during the outage may just be giving up: a new one has to follow it.
    void (catchingUp ?? Promise.resolve()).then(catchUp);
  });
  void catchUp();

  return {
    catchUp,
    async stop() {
      stopped = true;
      clearInterval(timer);
      unsubscribe();
      await Promise.all(tasks.map((task) => task.destroy()));
      await Promise.allSettled(running);
    },
  };
}

function startTask(
  entry: ScheduleEntry,
  expression: string,
  logger: Logger,
  tick: (slot: string) => Promise<void>,
): ScheduledTask {
  const quiet = (message: string | Error): void =>
    logger.debug({ entry: entry.key, reason: String(message) }, 'node-cron');
  return schedule(
    expression,
    // The scheduled second and not the time of the call: it names the job, on every daemon alike.
    (context) => tick(isoTime(Math.floor(context.date.getTime() / 1000) * 1000)),
    { timezone: 'UTC', name: entry.key, logger: { info: quiet, warn: quiet, error: quiet, debug: quiet } },
  );
}
