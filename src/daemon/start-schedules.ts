import { createSlotHistory, listSchedules, type WorkspaceSchedule } from '../freshness/schedules.ts';
import { type Scheduler, startScheduler } from '../queue/scheduler.ts';
import type { SyncQueue } from '../queue/sync-queue.ts';
import type { StartTicks } from '../queue/ticks.ts';
import type { Context } from '../wiring/context.ts';
import type { QueuedJobs } from './job-handlers.ts';

interface ScheduleOptions {
  waits: QueuedJobs;
  /**
   * The timer for cron expressions. False: the scheduler only polls for due slots; undefined: the timer is node-cron.
   */
  ticks: StartTicks | false | undefined;
}

/** Starts the scheduler, which enqueues the due slots of each workspace. */
export function startSchedules(context: Context, queue: SyncQueue, { waits, ticks }: ScheduleOptions): Scheduler {
  const { config, clock, logger } = context;
  return startScheduler<WorkspaceSchedule>({
    entries: listSchedules(config),
    enqueue: async ({ workspaceId, kind }, due) => {
      const answer = await queue.addSync({ workspaceId, kind, ...due });
      if (answer === 'added') waits.enqueued(workspaceId, clock.now());
    },
    history: createSlotHistory(context.reader().connection, clock),
    onRedisBack: (listener) => queue.onRedisBack(listener),
    ...(ticks === undefined ? {} : { ticks }),
    clock,
    logger,
  });
}
