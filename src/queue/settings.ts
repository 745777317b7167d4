/** How many jobs one daemon carries out at once, and more; tests change some. */
export interface QueueSettings {
  syncConcurrency: number;
  /** Milliseconds between two looks at whether Redis takes writes. */
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
