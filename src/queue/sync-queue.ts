import type { Queue } from 'bullmq';
import type { SyncHandler, SyncJob } from './jobs.ts';

export interface QueueCounts {
  waiting: number;
  active: number;
  delayed: number;
  completed: number;
  failed: number;
}

export interface StopOptions {
  /** Milliseconds after which `stop` returns whatever still runs. Default 10,000. */
  deadlineMs?: number;
  /** Milliseconds that running handlers have to finish before their signal is aborted. Default two thirds of the deadline. */
  graceMs?: number;
}

/**
 * What carries sync jobs from whoever finds them due to whoever has room for them. Every call that asks Redis ends
 * within about 5 s, by `redis_unavailable` (retryable) when Redis is away.
 */
export interface SyncQueue {
  /** Begins to take jobs. Before that the queue only enqueues. May be called twice. */
  start(handle: SyncHandler): void;
  /**
   * Enqueues one attempt. `exists`: the workspace has a job that waits or runs, and gets no second one.
   */
  addSync(job: SyncJob): Promise<'added' | 'exists'>;
  counts(): Promise<QueueCounts>;
  /** Since when sync jobs have waited, by workspace, in milliseconds since the epoch. */
  waitingSyncs(): Promise<Map<string, number>>;
  ping(): Promise<number>;
  /** Whether all connections are ready and Redis runs the commands that the queue needs, by the last probe. */
  readonly redisUp: boolean;
  /** Why Redis is not up, with the remedy; null when it is. */
  readonly redisFault: { reason: string; hint: string } | null;
  /** Calls the listener when Redis is back after an outage; returns what ends the subscription. */
  onRedisBack(listener: () => void): () => void;
  /** BullMQ's queues, for the pages that show them; none where something else carries the jobs. */
  readonly queues: readonly Queue[];
  /** Takes no more jobs, lets running handlers finish, closes. Resolves to false when the deadline cut it off. */
  stop(options?: StopOptions): Promise<boolean>;
}
