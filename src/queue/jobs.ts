import { createHash } from 'node:crypto';
import { isoTime } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';

/** A job for one attempt at a slot of a workspace. `attempt` counts from 1, in the ledger. */
export interface SlotJob {
  workspaceId: string;
  slot: string;
  kind: 'scheduled' | 'reconcile';
  attempt: number;
}

/** A job for a run that a person requested. */
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
 * A function that runs a job. Its result is stored as JSON. If it throws, the job fails; the ledger decides when to
 * retry, and each retry is another job.
 */
export type SyncHandler<Job extends SyncJob = SyncJob> = (job: Job, context: JobContext) => Promise<unknown>;

/** Returns a BullMQ job id that names the kind, scheduled time, workspace and attempt. Throws `bad_slot` for an invalid time. */
export function syncJobId(job: SyncJob): string {
  const slotMs = Date.parse(job.slot);
  if (Number.isNaN(slotMs)) throw new AppError('bad_slot', `slot ${JSON.stringify(job.slot)} is not an ISO time`);
  return `${job.kind}.${isoTime(slotMs).replaceAll(':', '-')}.${redisWorkspaceName(job.workspaceId)}.${job.attempt}`;
}

/**
 * Returns the text that stands for a workspace in Redis, a hash of its id. The id itself may contain any character, but
 * BullMQ refuses ids with ':' and ids that look like a number.
 */
export function redisWorkspaceName(workspaceId: string): string {
  return createHash('sha256').update(workspaceId, 'utf16le').digest('base64url').slice(0, 22);
}

/** Settings of a queue that tests change. */
export interface QueueSettings {
  syncConcurrency: number;
  heartbeatMs: number;
}

export const DEFAULT_SETTINGS: QueueSettings = {
  // High, because a run mostly waits for its service, and because a run that hangs must not delay the others.
  syncConcurrency: 64,
  heartbeatMs: 5_000,
};

/**
 * How long a worker owns a job without renewing its lock. It is longer than a restart of Redis or a short network
 * outage: otherwise two workers could run the same job at once.
 */
export const LOCK_DURATION_MS = 60_000;
/** Interval of the search for jobs whose lock has expired because their daemon was killed. */
export const STALLED_INTERVAL_MS = 15_000;
/**
 * How many times a job may lose its worker. With BullMQ's default of 1, the second kill of a daemon would fail the job
 * permanently.
 */
export const MAX_STALLED_COUNT = 10;
/** Delay of a worker after Redis refused a command, for example because it is read-only or full. */
export const WORKER_RETRY_MS = 3_000;
/** Time limit of a call that uses the queue, even if BullMQ itself would wait longer. */
export const PRODUCER_DEADLINE_MS = 5_000;
/** How long a call waits for a connection that is being opened: the longest pause between two connection attempts. */
export const READY_WAIT_MS = 1_000;

const DAY_SECONDS = 24 * 60 * 60;

/** How long and how many finished jobs stay in Redis. They serve only people who inspect the queue. */
export const SYNC_RETENTION = {
  removeOnComplete: { age: DAY_SECONDS, count: 1000 },
  removeOnFail: { age: 3 * DAY_SECONDS, count: 1000 },
};
