import { createHash } from 'node:crypto';
import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';

/** One run of one workspace. The slot, an ISO time, says which tick or request it stands for. */
export interface SyncJob {
  workspaceId: string;
  slot: string;
  kind: 'scheduled' | 'reconcile' | 'manual';
}

/** One attempt to deliver one notification; attempts are counted by the ledger, from 1 on. */
export interface DeliverJob {
  notificationId: string;
  attempt: number;
  /** Tells apart jobs for the same attempt, when the one before ended without making it; absent for the first. */
  round?: number;
}

/** What a handler is given beside its job. */
export interface JobContext {
  /** Aborted, with a `StoppingError` as its reason, when the daemon stops and the grace is over. */
  signal: AbortSignal;
  /** The attempt of the queue that this is, from 1 on. */
  attempt: number;
  /** True when a retryable failure is not retried any more. */
  lastAttempt: boolean;
  /** Shows how far the job is: a percentage or an object. Never fails and never waits. */
  progress(state: number | object): void;
}

/**
 * What is done with the jobs. An error with `retryable: false` fails the job at once, any other is retried after a
 * backoff, and not before `retryAfterMs` milliseconds when the error carries that. The result is kept as JSON.
 */
export interface JobHandlers {
  sync(job: SyncJob, context: JobContext): Promise<unknown>;
  deliver(job: DeliverJob, context: JobContext): Promise<unknown>;
}

/**
 * The same for the same workspace, kind and slot, on every daemon: that is what makes a tick one job. Workspace ids may
 * hold anything, so they are hashed: BullMQ refuses ids with ':' in them and ids that look like a number.
 */
export function syncJobId(job: SyncJob): string {
  const slotMs = Date.parse(job.slot);
  if (Number.isNaN(slotMs)) throw new AppError('bad_slot', `slot ${JSON.stringify(job.slot)} is not an ISO time`);
  const workspace = createHash('sha256').update(job.workspaceId, 'utf16le').digest('base64url').slice(0, 22);
  return `${job.kind}.${isoTime(slotMs).replaceAll(':', '-')}.${workspace}`;
}

export function deliverJobId(job: DeliverJob): string {
  if (!/^[\w-]+$/.test(job.notificationId)) {
    throw new AppError(
      'bad_notification_id',
      `notification id ${JSON.stringify(job.notificationId)} cannot name a job`,
    );
  }
  return `${job.notificationId}.${job.attempt}${job.round === undefined ? '' : `.${job.round}`}`;
}
