import { createHash } from 'node:crypto';
import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';

/** One attempt at a slot of one workspace; attempts are counted by the ledger, from 1 on. */
export interface SyncJob {
  workspaceId: string;
  slot: string;
  kind: 'scheduled' | 'reconcile';
  attempt: number;
}

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

/** How many jobs one daemon carries out at once, and more; tests change some. */
export interface QueueSettings {
  syncConcurrency: number;
  heartbeatMs: number;
}

export const DEFAULT_SETTINGS: QueueSettings = {
  // A run mostly waits for its service: one that hangs must not hold up the rest.
  syncConcurrency: 64,
  heartbeatMs: 5_000,
};

/** Outlasts a Redis restart or a short network loss, so that a job does not run twice at once. */
export const LOCK_DURATION_MS = 60_000;
/** How soon the job of a killed daemon is noticed once its lock has run out. */
export const STALLED_INTERVAL_MS = 15_000;
/** Kills and restarts are routine here: the default of 1 fails a job for good at the second. */
export const MAX_STALLED_COUNT = 10;
/** How soon a worker asks again after Redis has refused a command, as a read-only or full one does. */
export const WORKER_RETRY_MS = 3_000;
/** No producer call takes longer, whatever happens inside BullMQ. */
export const PRODUCER_DEADLINE_MS = 5_000;
/** How long a producer call waits for a connection that is just being made: the longest wait between two attempts. */
export const READY_WAIT_MS = 1_000;

const DAY_SECONDS = 24 * 60 * 60;

/** Finished jobs are kept for people who look at the queue: the ledger says which slots are done. */
export const SYNC_RETENTION = {
  removeOnComplete: { age: DAY_SECONDS, count: 1000 },
  removeOnFail: { age: 3 * DAY_SECONDS, count: 1000 },
};
