import type { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { systemClock } from '../core/clock.ts';
import { AppError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { randomId } from '../core/randomness.ts';
import { bullmq } from './bullmq.ts';
import { StoppingError } from './errors.ts';
import { type SyncHandler, type SyncJob, syncJobId, workspaceMark } from './jobs.ts';
import { askRedis } from './redis/ask-redis.ts';
import {
  createRedisWatch,
  openProducerConnection,
  openWorkerConnection,
  type RedisTarget,
  type RedisWatch,
  whenReady,
} from './redis/connection.ts';
import { startHeartbeat } from './redis/heartbeat.ts';
import { DEFAULT_SETTINGS, type QueueSettings, SYNC_RETENTION } from './settings.ts';
import type { QueueCounts, StopOptions, SyncQueue } from './sync-queue.ts';
import { closeWorker, startWorker } from './worker.ts';

export interface BullmqQueueOptions {
  /** Names the queue: two ledgers on one Redis never take each other's jobs. Letters, digits, `-`, `_`. */
  ledgerId: string;
  target: RedisTarget;
  logger: Logger;
  settings?: Partial<QueueSettings>;
}

/** Connects to the queue of one ledger. Does not fail when Redis is away: it is waited for in the background. */
export async function openBullmqQueue(options: BullmqQueueOptions): Promise<SyncQueue> {
  const { ledgerId, target, logger } = options;
  if (!/^[\w-]+$/.test(ledgerId)) {
    throw new AppError('bad_ledger_id', `ledger id ${JSON.stringify(ledgerId)} cannot name a queue`);
  }
  const watch = createRedisWatch(target, logger);
  const producer = openProducerConnection(target, watch);
  await whenReady(producer).catch(() => undefined);
  return new BullmqQueue(options, watch, producer);
}

class BullmqQueue implements SyncQueue {
  readonly #options: BullmqQueueOptions;
  readonly #settings: QueueSettings;
  readonly #watch: RedisWatch;
  readonly #producer: Redis;
  readonly #queue: Queue<SyncJob, unknown, string>;
  readonly #endHeartbeat: () => void;
  readonly #running = new Set<Promise<unknown>>();
  readonly #stopper = new AbortController();
  #worker: { worker: Worker; connection: Redis } | null = null;
  #stopped: Promise<boolean> | null = null;

  constructor(options: BullmqQueueOptions, watch: RedisWatch, producer: Redis) {
    const { ledgerId, logger, settings } = options;
    this.#options = options;
    this.#settings = { ...DEFAULT_SETTINGS, ...settings };
    this.#watch = watch;
    this.#producer = producer;
    // The version check would be a command of its own at start: refused while Redis is away, it spoils the queue for good.
    const queueOptions = { connection: producer, skipWaitingForReady: true, skipVersionCheck: true };
    this.#queue = new bullmq.Queue(`ul-${ledgerId}-sync`, queueOptions);
    this.#queue.on('error', ({ message: reason }) => logger.debug({ queue: this.#queue.name, reason }, 'queue error'));
    const key = `bull:ul-${ledgerId}-heartbeat`;
    this.#endHeartbeat = startHeartbeat({
      connection: producer,
      watch,
      key,
      intervalMs: this.#settings.heartbeatMs,
    });
  }

  start(handle: SyncHandler): void {
    if (this.#worker !== null || this.#stopped !== null) return;
    const { target, logger } = this.#options;
    const connection = openWorkerConnection(target, this.#watch);
    const track = (handler: Promise<unknown>): void => {
      this.#running.add(handler);
      const done = (): boolean => this.#running.delete(handler);
      handler.then(done, done);
    };
    const worker = startWorker<SyncJob>({
      queueName: this.#queue.name,
      connection,
      watch: this.#watch,
      logger,
      handle,
      track,
      concurrency: this.#settings.syncConcurrency,
      stopSignal: this.#stopper.signal,
    });
    this.#worker = { worker, connection };
  }

  /**
   * BullMQ's mark of the workspace alone decides, in the command that adds the job: it lasts until the job has ended, and
   * one whose job is gone gives way. So the id is one that no job before has had.
   */
  async addSync(job: SyncJob): Promise<'added' | 'exists'> {
    const jobId = `${syncJobId(job)}.${randomId()}`;
    const deduplication = { id: workspaceMark(job.workspaceId) };
    const options = { jobId, attempts: 1, deduplication, ...SYNC_RETENTION };
    const { id } = await this.#ask(() => this.#queue.add(job.kind, job, options));
    return id === jobId ? 'added' : 'exists';
  }

  counts(): Promise<QueueCounts> {
    return this.#ask(async () => {
      const counts = await this.#queue.getJobCounts('waiting', 'active', 'delayed', 'completed', 'failed');
      const { waiting = 0, active = 0, delayed = 0, completed = 0, failed = 0 } = counts;
      return { waiting, active, delayed, completed, failed };
    });
  }

  waitingSyncs(): Promise<Map<string, number>> {
    return this.#ask(async () => {
      const jobs = await this.#queue.getJobs(['waiting']);
      return new Map(jobs.map(({ data, timestamp }) => [data.workspaceId, timestamp]));
    });
  }

  ping(): Promise<number> {
    return this.#ask(async () => {
      const asked = systemClock.monotonic();
      await this.#producer.ping();
      return systemClock.monotonic() - asked;
    });
  }

  get redisUp(): boolean {
    return this.#watch.up;
  }

  onRedisBack(listener: () => void): () => void {
    return this.#watch.onBack(listener);
  }

  get queues(): readonly Queue[] {
    return [this.#queue];
  }

  stop(options: StopOptions = {}): Promise<boolean> {
    this.#stopped ??= this.#shutDown(options);
    return this.#stopped;
  }

  async #shutDown({ deadlineMs = 10_000, graceMs = (deadlineMs * 2) / 3 }: StopOptions): Promise<boolean> {
    const end = systemClock.monotonic() + deadlineMs;
    const stopper = this.#stopper;
    const endGrace = systemClock.after(graceMs, () => stopper.abort(new StoppingError()));
    const remainingMs = (): number => Math.max(0, end - systemClock.monotonic());
    const worker = this.#worker?.worker;
    const closed = worker === undefined || (await closeWorker(worker, this.#running, this.#watch, remainingMs));
    endGrace();
    stopper.abort(new StoppingError());
    if (!closed) this.#options.logger.warn({ running: this.#running.size }, 'stopped before all jobs had ended');
    this.#endHeartbeat();
    await this.#queue.close().catch(() => undefined);
    this.#producer.disconnect();
    this.#worker?.connection.disconnect();
    return closed;
  }

  #ask<T>(call: () => Promise<T>): Promise<T> {
    return askRedis({ connection: this.#producer, target: this.#options.target, watch: this.#watch }, call);
  }
}
