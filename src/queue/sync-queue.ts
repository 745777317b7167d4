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
  /** Milliseconds after which `stop` returns even if jobs are still running. Default 10,000. */
  deadlineMs?: number;
  /**
   * Milliseconds that running jobs get to finish before their signal is aborted. Default: two thirds of `deadlineMs`.
   */
  graceMs?: number;
}

/**
 * A queue of sync jobs between the scheduler and the workers. Every call that needs Redis ends within about 5 s. If
 * Redis is away, it throws `redis_unavailable` (retryable).
 */
export interface SyncQueue {
  /** Starts to run jobs with this handler. Before that, jobs are only enqueued. May be called twice. */
  start(handle: SyncHandler): void;
  /** Enqueues a job. Returns `exists`, and adds nothing, if the workspace already has a waiting or running job. */
  addSync(job: SyncJob): Promise<'added' | 'exists'>;
  counts(): Promise<QueueCounts>;
  /** Returns when the waiting job of each workspace was enqueued, by workspace id, in milliseconds since the epoch. */
  waitingSyncs(): Promise<Map<string, number>>;
  /** Returns the response time of Redis in milliseconds. */
  ping(): Promise<number>;
  /** True if all connections are ready and Redis accepted every command that the queue needs in the last test. */
  readonly redisUp: boolean;
  /** The cause of the outage and its remedy; null while Redis is up. */
  readonly redisFault: { reason: string; hint: string } | null;
  /** Calls the listener when Redis is back after an outage. Returns the function that unsubscribes. */
  onRedisBack(listener: () => void): () => void;
  /** BullMQ's queues, for the dashboard; empty for an implementation without BullMQ. */
  readonly queues: readonly Queue[];
  /** Takes no more jobs, waits for the running ones, and closes. Returns false if jobs still ran at the deadline. */
  stop(options?: StopOptions): Promise<boolean>;
}
