import { type Cancel, type Clock, every, nextTurn } from '../core/clock.ts';
import { type CronSchedule, createSlotFinder, type SlotSpan, scheduleText } from '../core/cron.ts';
import { summarizeError } from '../core/errors.ts';
import { type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';
import { createRepeatLimit } from '../core/repeat-limit.ts';
import { type DueAttempt, dueAttempt, type SlotHistory } from './slots.ts';
import { createDelayTimers, type DelayTimers, type StartTicks, startCronTicks, startDelayMs } from './ticks.ts';

/** Interval of the search for due slots that no tick enqueued: missed slots, and retries whose pause has ended. */
const CATCH_UP_INTERVAL_MS = 10_000;
/** After checking entries for this long, the scheduler lets the event loop serve requests. */
const MAX_BLOCKING_MS = 5;

/** Recurring work that is due at each time of its schedule. */
export interface ScheduleEntry extends CronSchedule {
  /** The entry's name in logs, unique among the entries with the same schedule. */
  key: string;
}

export interface SchedulerOptions<E extends ScheduleEntry> extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  entries: readonly E[];
  /** Enqueues an attempt. It may be called again for the same attempt and must then not add a second job. */
  enqueue(entry: E, due: DueAttempt): Promise<unknown>;
  history(entry: E): SlotHistory;
  /** Subscribes to the end of Redis outages. Returns the function that unsubscribes. */
  onRedisBack(listener: () => void): () => void;
  /** Starts a timer that ticks every minute; default: node-cron. False: due slots are found only by `catchUp`. */
  ticks?: StartTicks | false;
  intervalMs?: number;
}

export interface Scheduler {
  /** Enqueues the due attempt of every entry. If several slots were missed, only the latest one is enqueued. */
  catchUp(): Promise<void>;
  /** Enqueues nothing for the entry with this key until the delay has passed. */
  postpone(key: string, delayMs: number): void;
  /** Stops the timers and waits until pending calls of `enqueue` have ended. May be called twice. */
  stop(): Promise<void>;
}

/** Entries with the same schedule. It is parsed once for all of them, because parsing is slow. */
interface CronGroup<E> {
  entries: E[];
  spanAt(nowMs: number): SlotSpan | null;
}

/**
 * Starts the scheduler. It enqueues due slots at each tick; it also searches for missed slots at once, every ten
 * seconds, and when Redis is back. A slot is due if the ledger does not list it as done. A slot that cannot be enqueued
 * is logged and stays due.
 */
export function startScheduler<E extends ScheduleEntry>(options: SchedulerOptions<E>): Scheduler {
  const { entries, clock, logger, ticks = startCronTicks } = options;
  const running = new Set<Promise<void>>();
  let stopped = false;
  const groups = groupBySchedule(entries);
  const track = (work: Promise<void>): Promise<void> => {
    running.add(work);
    return work.finally(() => running.delete(work));
  };
  const timers = createDelayTimers(clock);
  const { enqueueDue, postpone } = createDueEnqueuer(options, () => stopped, { timers, track });
  const catchUp = startPeriodicTask({
    clock,
    logger,
    intervalMs: options.intervalMs ?? CATCH_UP_INTERVAL_MS,
    atOnce: true,
    failed: 'cannot check for due slots',
    async work() {
      for (const group of groups) if (!(await enqueueDue(group, 0))) return;
    },
  });
  const startTicks = (): (() => Promise<void>) => {
    if (ticks === false) return async () => undefined;
    // Uses the minute of the tick and not the current time, because a timer may fire a moment early.
    const tick = async (minuteMs: number): Promise<void> => {
      const due = groups.filter(({ spanAt }) => spanAt(minuteMs)?.slotMs === minuteMs);
      if (!stopped) await Promise.all(due.map((group) => track(enqueueDue(group, minuteMs).then(() => undefined))));
    };
    return ticks({ logger, tick, missed: () => void catchUp.run() });
  };
  let stopTicks = startTicks();
  // After the clock jumped, node-cron works through every skipped minute, which takes a minute for half a year. So its
  // task is recreated. Nothing is lost, because only the latest slot is enqueued.
  const endJumpWatch = watchClockJumps(clock, (jumpMs) => {
    logger.info({ seconds: Math.round(jumpMs / 1000) }, 'the clock jumped');
    const stopOldTicks = stopTicks;
    stopTicks = startTicks();
    track(stopOldTicks().then(catchUp.run)).catch(() => undefined);
  });
  // A search for missed slots that began during the outage may still fail, so another one follows it.
  const unsubscribe = options.onRedisBack(() => void catchUp.rerun());
  return {
    catchUp: catchUp.run,
    postpone,
    async stop() {
      stopped = true;
      timers.end();
      endJumpWatch();
      unsubscribe();
      await Promise.all([catchUp.stop(), stopTicks()]);
      await Promise.allSettled(running);
    },
  };
}

interface DueEnqueuer<E> {
  /**
   * Enqueues the attempts of the group that are due at `atMs`, or at the current time if that is later. Returns false
   * if enqueueing failed in a way that affects all entries, such as an outage of Redis.
   */
  enqueueDue(group: CronGroup<E>, atMs: number): Promise<boolean>;
  postpone(key: string, delayMs: number): void;
}

interface EnqueuerDeps {
  timers: DelayTimers;
  track(work: Promise<void>): Promise<void>;
}

function createDueEnqueuer<E extends ScheduleEntry>(
  options: SchedulerOptions<E>,
  stopped: () => boolean,
  { timers, track }: EnqueuerDeps,
): DueEnqueuer<E> {
  const { clock, logger } = options;
  const limit = createRepeatLimit(undefined, clock);
  /** End of the postponement of each key, by the monotonic clock. */
  const postponed = new Map<string, number>();
  /** Enqueues the due attempt of a scheduled entry. Returns false if it failed for a reason that affects all entries. */
  const enqueueIfDue = async (entry: E, group: CronGroup<E>, nowMs: number): Promise<boolean> => {
    const found = findDue(entry, group, nowMs);
    if (found === null) return true;
    const { due, waitMs } = found;
    if (waitMs > 0) {
      const enqueueLater = (): void => void track(enqueueIfDue(entry, group, clock.now()).then(() => undefined));
      timers.plan(entry.key, waitMs, enqueueLater);
      return true;
    }
    try {
      await options.enqueue(entry, due);
      return true;
    } catch (error) {
      const { code, message, retryable } = summarizeError(error);
      const { slot } = due;
      limit(`${code} ${message}`, (leftOut) =>
        logger.warn(
          { entry: entry.key, slot, code, reason: message, leftOut },
          'slot not enqueued; it will be retried',
        ),
      );
      return !retryable;
    }
  };
  const findDue = (entry: E, group: CronGroup<E>, nowMs: number): PlannedAttempt | null => {
    if (clock.monotonic() < (postponed.get(entry.key) ?? 0)) return null;
    postponed.delete(entry.key);
    try {
      return planAttempt(entry, group, options.history, nowMs);
    } catch (error) {
      const reason = summarizeError(error).message;
      limit(`history ${reason}`, (leftOut) =>
        logger.error({ entry: entry.key, reason, leftOut }, 'cannot read the history of a slot'),
      );
      return null;
    }
  };

  /**
   * Stops at the first failure that affects all entries: each of the others would take its whole time limit to fail.
   */
  const enqueueDue = async (group: CronGroup<E>, atMs: number): Promise<boolean> => {
    let turnStartedMs = clock.monotonic();
    for (const entry of group.entries) {
      if (stopped() || !(await enqueueIfDue(entry, group, Math.max(clock.now(), atMs)))) return false;
      if (clock.monotonic() - turnStartedMs < MAX_BLOCKING_MS) continue;
      await nextTurn();
      turnStartedMs = clock.monotonic();
    }
    return true;
  };
  return {
    enqueueDue,
    postpone(key, delayMs) {
      postponed.set(key, clock.monotonic() + delayMs);
    },
  };
}

/** A due attempt, and the time to wait so that entries with the same schedule do not all start at once. */
interface PlannedAttempt {
  due: DueAttempt;
  waitMs: number;
}

function planAttempt<E extends ScheduleEntry>(
  entry: E,
  { entries, spanAt }: CronGroup<E>,
  historyOf: (entry: E) => SlotHistory,
  nowMs: number,
): PlannedAttempt | null {
  const span = spanAt(nowMs);
  const due = span === null ? null : dueAttempt(span, historyOf(entry), nowMs);
  if (span === null || due === null) return null;
  const beginsMs = span.slotMs + startDelayMs(entry.key, entries.length, span.nextMs - span.slotMs);
  return { due, waitMs: Math.max(0, beginsMs - nowMs) };
}

function groupBySchedule<E extends ScheduleEntry>(entries: readonly E[]): CronGroup<E>[] {
  const groups = new Map<string, CronGroup<E>>();
  for (const entry of entries) {
    const key = scheduleText(entry);
    const group = groups.get(key) ?? { entries: [], spanAt: createSlotFinder(entry) };
    group.entries.push(entry);
    groups.set(key, group);
  }
  return [...groups.values()];
}

const SCHEDULE_CHECK_INTERVAL_MS = 1_000;
/**
 * Smaller jumps are ignored: corrections of a clock are smaller, and a machine that slept for less has missed little.
 */
const MIN_JUMP_MS = 30_000;

/**
 * Calls the listener within a second after the wall clock jumped, because somebody set it or the machine slept. Returns
 * the function that stops watching.
 */
function watchClockJumps(clock: Clock, onJump: (jumpMs: number) => void): Cancel {
  const offset = (): number => clock.now() - clock.monotonic();
  let knownOffset = offset();
  return every(clock, SCHEDULE_CHECK_INTERVAL_MS, () => {
    const jumpMs = offset() - knownOffset;
    knownOffset += jumpMs;
    if (Math.abs(jumpMs) > MIN_JUMP_MS) onJump(jumpMs);
  });
}
