import { isoTime, type WallClock } from '../core/clock.ts';
import { latestTime } from '../core/cron.ts';
import { summarizeError } from '../core/errors.ts';
import { canHaveHappened } from '../core/stored-time.ts';
import { retiredWorkspaces } from '../ledger/journal/retired-workspaces.ts';
import type { SyncHandler } from '../queue/jobs.ts';
import { nextSlot } from '../queue/slots.ts';
import { restEndMs } from '../sync/run-deadline.ts';
import type { Context } from '../wiring/context.ts';
import { cronOf, scheduleKey } from './schedules.ts';
import { stillWaits } from './state/staleness.ts';

export interface AfterJobs {
  onBegin(workspaceId: string): void;
  notified(): void;
  postpone(key: string, delayMs: number): void;
}

/** A failure that leaves nothing in the ledger, such as a workspace that another run holds, is tried again after this. */
const UNRECORDED_REST_MS = 15_000;
/** A workspace that was ended is asked about again after this: somebody may have taken the end back. */
const ENDED_REST_MS = 60 * 60_000;
/** Nothing that fails rests for longer than a day, however rare its slots. */
const LONGEST_REST_MS = 24 * 60 * 60_000;

export function createSyncHandler(context: Context, { onBegin, notified, postpone }: AfterJobs): SyncHandler {
  const { clock, logger } = context;
  return async ({ workspaceId, kind, slot, attempt }, job) => {
    onBegin(workspaceId);
    if (retiredWorkspaces(context.reader().connection).includes(workspaceId)) {
      postpone(scheduleKey(workspaceId, kind), ENDED_REST_MS);
      logger.info({ workspaceId, kind, slot }, 'the workspace was ended: this ledger no longer reads it');
      return { status: 'ended' };
    }
    if (!context.config.workspaces.some(({ id }) => id === workspaceId)) {
      logger.info({ workspaceId, kind, slot }, 'the workspace is no longer configured');
      return { status: 'not_configured' };
    }
    const cron = cronOf(context.workspace(workspaceId), kind);
    const askedAgain = (nowMs: number): number => Math.min(nextSlot(cron, nowMs), nowMs + LONGEST_REST_MS);
    try {
      const outcome = await context.sync({
        workspaceId,
        kind,
        slot: latestOf(slot, cron, clock.now()),
        nextSlot: askedAgain,
        signal: job.signal,
        onProgress: (progress) => {
          if (progress.pages % 100 === 0) job.progress(progress);
        },
      });
      if (outcome.status === 'already_done') {
        logger.info({ workspaceId, slot, runId: outcome.runId }, 'slot was done already');
        return { status: outcome.status, runId: outcome.runId };
      }
      const { status, runId, records, entries, walks } = outcome;
      const alerts = outcome.alerts.changes.length;
      const head = { link: outcome.appliedSeq, head: outcome.digest };
      logger.info({ workspaceId, kind, slot, runId, records, entries, walks, alerts, ...head }, 'run applied');
      if (outcome.alerts.due > 0) notified();
      return { status, runId, records, entries, alerts };
    } catch (error) {
      const { code, message, hint } = summarizeError(error);
      const nowMs = clock.now();
      const restMs = restEndMs(error, nowMs, askedAgain, UNRECORDED_REST_MS) - nowMs;
      if (!job.signal.aborted) postpone(scheduleKey(workspaceId, kind), restMs);
      const stack = code === 'internal' && error instanceof Error ? error.stack : undefined;
      const fields = { workspaceId, kind, slot, attempt, code, reason: message, hint, stack };
      logger.error(fields, 'run failed, the slot will be tried again');
      notified();
      throw error;
    }
  };
}

/**
 * A job that has waited past the next tick does the later slot: what was missed is done once. So does one whose slot has
 * not come since the clock was set back.
 */
function latestOf(slot: string, cron: string, nowMs: number): string {
  const latestMs = latestTime(cron, nowMs);
  const slotMs = Date.parse(slot);
  return latestMs !== null && (latestMs > slotMs || !canHaveHappened(slotMs, nowMs)) ? isoTime(latestMs) : slot;
}

export class JobWaits {
  readonly #sinceMs = new Map<string, number>();
  readonly #clock: WallClock;

  constructor(clock: WallClock) {
    this.#clock = clock;
  }

  enqueued(workspaceId: string, nowMs: number): void {
    if (!this.#sinceMs.has(workspaceId)) this.#sinceMs.set(workspaceId, nowMs);
  }

  begun(workspaceId: string): void {
    this.#sinceMs.delete(workspaceId);
  }

  /** Null when no job waits. `lastAttemptAtMs` is of the ledger. */
  since(workspaceId: string, lastAttemptAtMs: number | null): number | null {
    const sinceMs = this.#sinceMs.get(workspaceId);
    if (sinceMs === undefined || stillWaits(sinceMs, lastAttemptAtMs, this.#clock.now())) return sinceMs ?? null;
    this.#sinceMs.delete(workspaceId);
    return null;
  }
}
