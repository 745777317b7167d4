import { type Cancel, type Clock, every, nextTurn } from '../core/clock.ts';
import { summarizeError } from '../core/errors.ts';
import { type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';
import { createRepeatLimit } from '../core/repeat-limit.ts';
import { createSlotFinder, type DueAttempt, dueAttempt, type SlotHistory, type SlotSpan } from './slots.ts';
import { createSpreadTimers, offsetMs, type SpreadTimers, type StartTicks, startCronTicks } from './ticks.ts';

/** How soon a missed slot, the end of a rest or a Redis that works again without a word is noticed. */
const CATCH_UP_INTERVAL_MS = 10_000;
/** Looking at hundreds of entries takes its time, and pages that come in meanwhile must not wait for it. */
const LONGEST_TURN_MS = 5;

/** Something to enqueue at the times of a cron expression, which is in UTC. */
export interface ScheduleEntry {
  /** Names the entry in logs, and among those that share its cron. */
  key: string;
  cron: string;
}

export interface SchedulerOptions<E extends ScheduleEntry> extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  entries: readonly E[];
  /** Enqueues an attempt. The same one may come again: its job must be the same then. */
  enqueue(entry: E, due: DueAttempt): Promise<unknown>;
  history(entry: E): SlotHistory;
  /** Subscribes to the end of Redis outages; returns what ends the subscription. */
  onRedisBack(listener: () => void): () => void;
  /** What calls at each minute; false: only catching up finds what is due. Those of node-cron when absent. */
  ticks?: StartTicks | false;
  intervalMs?: number;
}

export interface Scheduler {
  /** Enqueues the due attempt of every entry: of its latest slot only, however many were missed. */
  catchUp(): Promise<void>;
  postpone(key: string, delayMs: number): void;
  /** Ends all ticks and waits for what is being enqueued. May be called twice. */
  stop(): Promise<void>;
}

/** The entries of one cron expression: reading it takes its time, so it is read once for all of them. */
interface CronGroup<E> {
  entries: E[];
  spanAt(nowMs: number): SlotSpan | null;
}

/**
 * Starts the ticks, and catches up at once, when Redis is back and every ten seconds. It only enqueues, and only what the
 * ledger says is not done. What cannot be enqueued is logged and stays due, so catching up finds it.
 */
export function startScheduler<E extends ScheduleEntry>(options: SchedulerOptions<E>): Scheduler {
  const { entries, clock, logger, ticks = startCronTicks } = options;
  const running = new Set<Promise<void>>();
  let stopped = false;
  const groups = groupByCron(entries);
  const track = (work: Promise<void>): Promise<void> => {
    running.add(work);
    return work.finally(() => running.delete(work));
  };
  const timers = createSpreadTimers(clock);
  const { considerAll, postpone } = createLook(options, () => stopped, { timers, track });
  const catchUp = startPeriodicTask({
    clock,
    logger,
    intervalMs: options.intervalMs ?? CATCH_UP_INTERVAL_MS,
    atOnce: true,
    failed: 'due slots could not be looked for',
    async work() {
      for (const group of groups) if (!(await considerAll(group, 0))) return;
    },
  });
  const startTicks = (): (() => Promise<void>) => {
    if (ticks === false) return async () => undefined;
    // A timer may be early by a moment, and the slot has begun when its tick says so.
    const tick = async (minuteMs: number): Promise<void> => {
      const due = groups.filter(({ spanAt }) => spanAt(minuteMs)?.slotMs === minuteMs);
      if (!stopped) await Promise.all(due.map((group) => track(considerAll(group, minuteMs).then(() => undefined))));
    };
    return ticks({ logger, tick, missed: () => void catchUp.run() });
  };
  let endTicks = startTicks();
  // node-cron goes through every tick that a jump has left out, which takes a minute for half a year of minutes: its task
  // is made anew instead. Only the latest slot counts anyway.
  const endJumpWatch = watchClockJumps(clock, (jumpMs) => {
    logger.info({ seconds: Math.round(jumpMs / 1000) }, 'the clock has jumped');
    const endOutdated = endTicks;
    endTicks = startTicks();
    track(endOutdated().then(catchUp.run)).catch(() => undefined);
  });
  // A pass that began during the outage may just be giving up: a new one has to follow it.
  const unsubscribe = options.onRedisBack(() => void catchUp.rerun());
  return {
    catchUp: catchUp.run,
    postpone,
    async stop() {
      stopped = true;
      timers.end();
      endJumpWatch();
      unsubscribe();
      await Promise.all([catchUp.stop(), endTicks()]);
      await Promise.allSettled(running);
    },
  };
}

interface Look<E> {
  /** Enqueues what is due of the group at this moment, or now when that is later. False when enqueueing fails for now. */
  considerAll(group: CronGroup<E>, atMs: number): Promise<boolean>;
  postpone(key: string, delayMs: number): void;
}

interface Aside {
  timers: SpreadTimers;
  track(work: Promise<void>): Promise<void>;
}

function createLook<E extends ScheduleEntry>(
  options: SchedulerOptions<E>,
  stopped: () => boolean,
  { timers, track }: Aside,
): Look<E> {
  const { clock, logger } = options;
  const limit = createRepeatLimit(undefined, clock);
  /** Until when, by the monotonic clock. */
  const postponed = new Map<string, number>();
  /** Enqueues what is due of an entry. False when enqueueing fails for now, whatever the slot. */
  const consider = async (entry: E, group: CronGroup<E>, nowMs: number): Promise<boolean> => {
    const found = look(entry, group, nowMs);
    if (found === null) return true;
    const { due, waitMs } = found;
    if (waitMs > 0) {
      const begin = (): void => void track(consider(entry, group, clock.now()).then(() => undefined));
      timers.plan(entry.key, waitMs, begin);
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
          'slot not enqueued, it will be caught up',
        ),
      );
      return !retryable;
    }
  };
  const look = (entry: E, group: CronGroup<E>, nowMs: number): Planned | null => {
    if (clock.monotonic() < (postponed.get(entry.key) ?? 0)) return null;
    postponed.delete(entry.key);
    try {
      return plannedOf(entry, group, options.history, nowMs);
    } catch (error) {
      const reason = summarizeError(error).message;
      limit(`history ${reason}`, (leftOut) =>
        logger.error({ entry: entry.key, reason, leftOut }, 'cannot tell whether a slot is due'),
      );
      return null;
    }
  };

  /** What keeps one slot out keeps the others out, too, and each would wait for its own deadline. */
  const considerAll = async (group: CronGroup<E>, atMs: number): Promise<boolean> => {
    let turnBegan = clock.monotonic();
    for (const entry of group.entries) {
      if (stopped() || !(await consider(entry, group, Math.max(clock.now(), atMs)))) return false;
      if (clock.monotonic() - turnBegan < LONGEST_TURN_MS) continue;
      await nextTurn();
      turnBegan = clock.monotonic();
    }
    return true;
  };
  return {
    considerAll,
    postpone(key, delayMs) {
      postponed.set(key, clock.monotonic() + delayMs);
    },
  };
}

/** An attempt that is due, and how long its turn in the spread is still to come. */
interface Planned {
  due: DueAttempt;
  waitMs: number;
}

function plannedOf<E extends ScheduleEntry>(
  entry: E,
  { entries, spanAt }: CronGroup<E>,
  historyOf: (entry: E) => SlotHistory,
  nowMs: number,
): Planned | null {
  const span = spanAt(nowMs);
  const due = span === null ? null : dueAttempt(span, historyOf(entry), nowMs);
  if (span === null || due === null) return null;
  const beginsMs = span.slotMs + offsetMs(entry.key, entries.length, span.nextMs - span.slotMs);
  return { due, waitMs: Math.max(0, beginsMs - nowMs) };
}

function groupByCron<E extends ScheduleEntry>(entries: readonly E[]): CronGroup<E>[] {
  const groups = new Map<string, CronGroup<E>>();
  for (const entry of entries) {
    const { cron } = entry;
    const group = groups.get(cron) ?? { entries: [], spanAt: createSlotFinder(cron) };
    group.entries.push(entry);
    groups.set(cron, group);
  }
  return [...groups.values()];
}

const LOOK_INTERVAL_MS = 1_000;
/** Clocks are slewed by less; a machine that slept for less has missed little. */
const NOTABLE_MS = 30_000;

/**
 * Calls the listener within a second after the wall clock has jumped: it was set, or the machine slept. Returns what ends
 * the watch.
 */
function watchClockJumps(clock: Clock, onJump: (jumpMs: number) => void): Cancel {
  const offset = (): number => clock.now() - clock.monotonic();
  let known = offset();
  return every(clock, LOOK_INTERVAL_MS, () => {
    const jumpMs = offset() - known;
    known += jumpMs;
    if (Math.abs(jumpMs) > NOTABLE_MS) onJump(jumpMs);
  });
}
