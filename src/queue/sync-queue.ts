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
  /** Milliseconds after which `stop` returns even if jobs still run. Default 10,000. */
  deadlineMs?: number;
  /**
   * Milliseconds that running handlers get to finish before their signal is aborted. Default: two thirds of the
   * deadline.
   */
  graceMs?: number;
}

/**
 * A queue of sync jobs between the scheduler and the workers. Every call that needs Redis ends within about 5 s, with
 * `redis_unavailable` (retryable) if Redis is away.
 */
export interface SyncQueue {
  /** Starts taking jobs. Until then the queue only enqueues. May be called twice. */
  start(handle: SyncHandler): void;
  /** Enqueues one attempt. `exists`: the workspace already has a waiting or running job and gets no second one. */
  addSync(job: SyncJob): Promise<'added' | 'exists'>;
  counts(): Promise<QueueCounts>;
  /** Returns, by workspace, the time since which its sync job waits, in milliseconds since the epoch. */
  waitingSyncs(): Promise<Map<string, number>>;
  ping(): Promise<number>;
  /** True when all connections are ready and the last probe ran the commands that the queue needs. */
  readonly redisUp: boolean;
  /** The cause of the outage and its remedy; null while Redis is up. */
  readonly redisFault: { reason: string; hint: string } | null;
  /** Calls the listener when Redis is back after an outage. Returns the function that unsubscribes. */
  onRedisBack(listener: () => void): () => void;
  /** BullMQ's queues, for the dashboard; empty if another queue carries the jobs. */
  readonly queues: readonly Queue[];
  /** Stops taking jobs, lets running handlers finish, and closes. Resolves to false if the deadline cut it off. */
  stop(options?: StopOptions): Promise<boolean>;
}
