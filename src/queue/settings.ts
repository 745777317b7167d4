import { jitteredBackoffMs } from '../core/backoff.ts';

/** How the queues work. All times in milliseconds; tests shorten some. */
export interface QueueSettings {
  syncConcurrency: number;
  deliverConcurrency: number;
  /** Attempts of one sync job, the first included. */
  syncAttempts: number;
  /** Wait before the second attempt; doubles from there. */
  backoffBaseMs: number;
}

export const DEFAULT_SETTINGS: QueueSettings = {
  // A run is mostly waiting for the service, and its pages are fetched concurrently already.
  syncConcurrency: 2,
  // Deliveries wait for other people's servers: one that hangs must not hold up the rest.
  deliverConcurrency: 4,
  // With the backoff below about four minutes of trying: then the next slot takes over.
  syncAttempts: 5,
  // HTTP faults were retried in the client already; what reaches the queue takes longer to go away.
  backoffBaseMs: 15_000,
};

/** Outlasts a Redis restart or a short network loss, so that a job does not run twice at once. */
export const LOCK_DURATION_MS = 60_000;
/** How soon the job of a killed daemon is noticed once its lock has run out. */
export const STALLED_INTERVAL_MS = 15_000;
/** Kills and restarts are routine here: the default of 1 fails a job for good at the second. */
export const MAX_STALLED_COUNT = 10;
/** Beyond ten minutes a retry only competes with the next slot. */
export const MAX_BACKOFF_MS = 10 * 60_000;
/** Nobody means a `Retry-After` of more than a day, and later slots ask anyway. */
export const MAX_RETRY_AFTER_MS = 24 * 60 * 60_000;
/** No producer call takes longer, whatever happens inside BullMQ. */
export const PRODUCER_DEADLINE_MS = 5_000;
/** How long a producer call waits for a connection that is just being made: the longest wait between two attempts. */
export const READY_WAIT_MS = 1_000;

const DAY_SECONDS = 24 * 60 * 60;

/**
 * Finished jobs are what makes a slot run once: a late or repeated add of the same id is ignored for as long as the job
 * is kept. An age applies to the whole set, so each queue has one. After that the ledger knows the slot.
 */
export const SYNC_RETENTION = {
  // A daemon that was suspended or has a wrong clock adds old slots; three days cover a weekend.
  removeOnComplete: { age: 3 * DAY_SECONDS },
  // A failed slot stays failed, or catching up would run it again each minute; and somebody wants to read why.
  removeOnFail: { age: 14 * DAY_SECONDS },
};

export const DELIVER_RETENTION = {
  // Only for people who look at the queue: the ledger says what was delivered.
  removeOnComplete: { age: DAY_SECONDS },
  // The handler broke before the ledger counted the attempt, so the ledger will ask for the same id again.
  removeOnFail: true,
};

/**
 * Milliseconds until the next attempt after `attempt` attempts: exponential, the upper half of it random so that
 * workspaces which failed together do not come back together; never before `retryAfterMs`.
 */
export function retryDelayMs(attempt: number, baseMs: number, retryAfterMs: number, random: number): number {
  const wait = jitteredBackoffMs(attempt - 1, { baseMs, maxMs: MAX_BACKOFF_MS }, random);
  return Math.ceil(Math.max(wait, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)));
}
