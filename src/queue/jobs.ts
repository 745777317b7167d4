import { createHash } from 'node:crypto';
import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';

/** One attempt at a slot of a workspace. The ledger counts attempts, from 1. */
export interface SlotJob {
  workspaceId: string;
  slot: string;
  kind: 'scheduled' | 'reconcile';
  attempt: number;
}

/** A run that somebody asked for, once. */
export interface ManualJob {
  workspaceId: string;
  /** The time of the request. */
  slot: string;
  kind: 'manual';
  attempt: number;
}

export type SyncJob = SlotJob | ManualJob;

export interface JobContext {
  /** Aborted with a `StoppingError` when the daemon stops and the grace period is over. */
  signal: AbortSignal;
  /** Publishes the progress of the job: a percentage or an object. Never fails and never waits. */
  progress(state: number | object): void;
}

/**
 * Runs a job. An error fails it; the ledger decides when to retry, and each retry is another job. The result is stored
 * as JSON.
 */
export type SyncHandler<Job extends SyncJob = SyncJob> = (job: Job, context: JobContext) => Promise<unknown>;

export function syncJobId(job: SyncJob): string {
  const slotMs = Date.parse(job.slot);
  if (Number.isNaN(slotMs)) throw new AppError('bad_slot', `slot ${JSON.stringify(job.slot)} is not an ISO time`);
  return `${job.kind}.${isoTime(slotMs).replaceAll(':', '-')}.${workspaceMark(job.workspaceId)}.${job.attempt}`;
}

/**
 * Returns the name of a workspace inside Redis. The id is hashed because it may contain any character: BullMQ refuses
 * ids with ':' and ids that look like a number.
 */
export function workspaceMark(workspaceId: string): string {
  return createHash('sha256').update(workspaceId, 'utf16le').digest('base64url').slice(0, 22);
}

/** The concurrency and heartbeat of a queue. Tests change some of them. */
export interface QueueSettings {
  syncConcurrency: number;
  heartbeatMs: number;
}

export const DEFAULT_SETTINGS: QueueSettings = {
  // A run mostly waits for its service, and a hanging one must not delay the others.
  syncConcurrency: 64,
  heartbeatMs: 5_000,
};

/** Longer than a Redis restart or a short network loss, so that a job does not run twice at once. */
export const LOCK_DURATION_MS = 60_000;
/** Interval at which jobs of killed daemons are detected once their lock has expired. */
export const STALLED_INTERVAL_MS = 15_000;
/** Kills and restarts are routine here: with the default of 1, the second one would fail a job for good. */
export const MAX_STALLED_COUNT = 10;
/** Wait of a worker after Redis refused a command, as a read-only or full one does. */
export const WORKER_RETRY_MS = 3_000;
/** Maximum duration of a producer call, whatever BullMQ does. */
export const PRODUCER_DEADLINE_MS = 5_000;
/** Maximum wait of a producer call for a pending connection: the longest wait between two connection attempts. */
export const READY_WAIT_MS = 1_000;

const DAY_SECONDS = 24 * 60 * 60;

/** Finished jobs are kept only for people who inspect the queue: the ledger records which slots are done. */
export const SYNC_RETENTION = {
  removeOnComplete: { age: DAY_SECONDS, count: 1000 },
  removeOnFail: { age: 3 * DAY_SECONDS, count: 1000 },
};
