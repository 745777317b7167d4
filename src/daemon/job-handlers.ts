import { isoTime, type WallClock } from '../core/clock.ts';
import { type CronSchedule, latestTime, nextSlot } from '../core/cron.ts';
import { summarizeError } from '../core/errors.ts';
import { canHaveHappened } from '../core/stored-time.ts';
import { configuredSchedule, scheduleKey } from '../freshness/schedules.ts';
import { isStillQueued } from '../freshness/staleness.ts';
import { retiredWorkspaces } from '../ledger/journal/retired-workspaces.ts';
import type { SlotJob, SyncHandler } from '../queue/jobs.ts';
import { nextAttemptMs } from '../sync/run-deadline.ts';
import type { Context } from '../wiring/context.ts';

export interface SyncHooks {
  onStart(workspaceId: string): void;
  wakeDeliveries(): void;
  postpone(key: string, delayMs: number): void;
}

/** Retry delay after a failure that the ledger does not record, such as a workspace leased by another run. */
const UNRECORDED_RETRY_DELAY_MS = 15_000;
/** Delay before a retired workspace is checked again, because a person may have resumed the workspace. */
const RETIRED_RETRY_DELAY_MS = 60 * 60_000;
/** A failed slot is retried within a day, however rare the slots are. */
const MAX_RETRY_DELAY_MS = 24 * 60 * 60_000;

export function createSyncHandler(
  context: Context,
  { onStart, wakeDeliveries, postpone }: SyncHooks,
): SyncHandler<SlotJob> {
  const { clock, logger } = context;
  return async ({ workspaceId, kind, slot, attempt }, job) => {
    onStart(workspaceId);
    if (retiredWorkspaces(context.reader().connection).includes(workspaceId)) {
      postpone(scheduleKey(workspaceId, kind), RETIRED_RETRY_DELAY_MS);
      logger.info({ workspaceId, kind, slot }, 'skipped a retired workspace');
      return { status: 'ended' };
    }
    if (!context.config.workspaces.some(({ id }) => id === workspaceId)) {
      logger.info({ workspaceId, kind, slot }, 'skipped a workspace that is no longer configured');
      return { status: 'not_configured' };
    }
    const schedule = configuredSchedule(context.workspace(workspaceId), kind);
    const askedAgain = (nowMs: number): number => Math.min(nextSlot(schedule, nowMs), nowMs + MAX_RETRY_DELAY_MS);
    try {
      const outcome = await context.sync({
        workspaceId,
        kind,
        slot: latestOf(slot, schedule, clock.now()),
        nextSlot: askedAgain,
        signal: job.signal,
        onProgress: (progress) => {
          if (progress.pages % 100 === 0) job.progress(progress);
        },
      });
      if (outcome.status === 'already_done') {
        logger.info({ workspaceId, slot, runId: outcome.runId }, 'slot already done');
        return { status: outcome.status, runId: outcome.runId };
      }
      const { status, runId, records, entries, walks } = outcome;
      const alerts = outcome.alerts.changes.length;
      const head = { link: outcome.appliedSeq, head: outcome.digest };
      logger.info({ workspaceId, kind, slot, runId, records, entries, walks, alerts, ...head }, 'run applied');
      if (outcome.alerts.due > 0) wakeDeliveries();
      return { status, runId, records, entries, alerts };
    } catch (error) {
      const { code, message, hint } = summarizeError(error);
      const nowMs = clock.now();
      const restMs = nextAttemptMs(error, nowMs, askedAgain, UNRECORDED_RETRY_DELAY_MS) - nowMs;
      if (!job.signal.aborted) postpone(scheduleKey(workspaceId, kind), restMs);
      const stack = code === 'internal' && error instanceof Error ? error.stack : undefined;
      const fields = { workspaceId, kind, slot, attempt, code, reason: message, hint, stack };
      logger.error(fields, 'run failed, the slot will be tried again');
      wakeDeliveries();
      throw error;
    }
  };
}

/**
 * Returns the slot that a job should run. That is the job's own slot, or the latest slot in two cases: a later slot has
 * begun while the job waited, so that one run replaces all missed slots; or the job's slot is in the future because the
 * clock was set back.
 */
function latestOf(slot: string, schedule: CronSchedule, nowMs: number): string {
  const latestMs = latestTime(schedule, nowMs);
  const slotMs = Date.parse(slot);
  return latestMs !== null && (latestMs > slotMs || !canHaveHappened(slotMs, nowMs)) ? isoTime(latestMs) : slot;
}

/** Remembers when the queued job of each workspace was enqueued. */
export class QueuedJobs {
  readonly #sinceMs = new Map<string, number>();
  readonly #clock: WallClock;

  constructor(clock: WallClock) {
    this.#clock = clock;
  }

  enqueued(workspaceId: string, nowMs: number): void {
    if (!this.#sinceMs.has(workspaceId)) this.#sinceMs.set(workspaceId, nowMs);
  }

  started(workspaceId: string): void {
    this.#sinceMs.delete(workspaceId);
  }

  /**
   * Returns when the workspace's waiting job was enqueued; null if no job waits. `lastAttemptAtMs` is the time of the
   * last attempt in the ledger.
   */
  since(workspaceId: string, lastAttemptAtMs: number | null): number | null {
    const sinceMs = this.#sinceMs.get(workspaceId);
    if (sinceMs === undefined || isStillQueued(sinceMs, lastAttemptAtMs, this.#clock.now())) return sinceMs ?? null;
    this.#sinceMs.delete(workspaceId);
    return null;
  }
}
