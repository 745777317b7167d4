import { createHash } from 'node:crypto';
import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';

/** One attempt at a slot of one workspace; attempts are counted by the ledger, from 1 on. */
export interface SyncJob {
  workspaceId: string;
  /** ISO time of the tick. */
  slot: string;
  kind: 'scheduled' | 'reconcile';
  attempt: number;
}

/** What a handler is given beside its job. */
export interface JobContext {
  /** Aborted, with a `StoppingError` as its reason, when the daemon stops and the grace is over. */
  signal: AbortSignal;
  /** Shows how far the job is: a percentage or an object. Never fails and never waits. */
  progress(state: number | object): void;
}

/**
 * What is done with a job. An error fails it: when to try again is for the ledger to say, which makes the next attempt
 * another job. The result is kept as JSON.
 */
export type SyncHandler = (job: SyncJob, context: JobContext) => Promise<unknown>;

/** Names an attempt, for who looks at the queue. */
export function syncJobId(job: SyncJob): string {
  const slotMs = Date.parse(job.slot);
  if (Number.isNaN(slotMs)) throw new AppError('bad_slot', `slot ${JSON.stringify(job.slot)} is not an ISO time`);
  return `${job.kind}.${isoTime(slotMs).replaceAll(':', '-')}.${workspaceMark(job.workspaceId)}.${job.attempt}`;
}

/**
 * Names a workspace inside Redis. Its id may hold anything, so it is hashed: BullMQ refuses ids with ':' in them and ids
 * that look like a number.
 */
export function workspaceMark(workspaceId: string): string {
  return createHash('sha256').update(workspaceId, 'utf16le').digest('base64url').slice(0, 22);
}
