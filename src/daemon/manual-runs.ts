import { isoTime } from '../core/clock.ts';
import { summarizeError } from '../core/errors.ts';
import type { SlotJob, SyncHandler } from '../queue/jobs.ts';
import type { SyncQueue } from '../queue/sync-queue.ts';
import type { Context } from '../wiring/context.ts';
import type { SyncHooks } from './job-handlers.ts';

/**
 * Returns a function that enqueues a run which a person requested. A workspace has at most one waiting or running job;
 * the result is `exists` if it has one already.
 */
export function enqueueManualRun(
  queue: SyncQueue,
): (workspaceId: string, nowMs: number) => Promise<'added' | 'exists'> {
  return (workspaceId, nowMs) => queue.addSync({ workspaceId, kind: 'manual', slot: isoTime(nowMs), attempt: 1 });
}

/** Returns a handler that carries out manual runs itself and passes all other jobs to `handleSlot`. */
export function withManualRuns(
  context: Context,
  { onStart, wakeDeliveries }: Pick<SyncHooks, 'onStart' | 'wakeDeliveries'>,
  handleSlot: SyncHandler<SlotJob>,
): SyncHandler {
  const { logger } = context;
  return async (job, { signal, progress }) => {
    if (job.kind !== 'manual') return handleSlot(job, { signal, progress });
    const { workspaceId } = job;
    onStart(workspaceId);
    try {
      const outcome = await context.sync({ workspaceId, kind: 'manual', slot: null, signal });
      if (outcome.status === 'already_done') throw new Error('a manual run has no slot to skip');
      const { status, runId, records, entries } = outcome;
      logger.info({ workspaceId, kind: 'manual', runId, records, entries }, 'run applied');
      return { status, runId, records, entries };
    } catch (error) {
      const { code, message, hint } = summarizeError(error);
      logger.error({ workspaceId, kind: 'manual', code, reason: message, hint }, 'run failed, it is not tried again');
      throw error;
    } finally {
      wakeDeliveries();
    }
  };
}
