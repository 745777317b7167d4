import type { Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { systemClock } from '../core/clock.ts';
import { settlesWithin } from '../core/deadline.ts';
import { AppError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { randomId } from '../core/randomness.ts';
import { bullmq } from './bullmq.ts';
import { StoppingError } from './errors.ts';
import {
  DEFAULT_SETTINGS,
  type QueueSettings,
  redisWorkspaceName,
  SYNC_RETENTION,
  type SyncHandler,
  type SyncJob,
  syncJobId,
} from './jobs.ts';
import { callRedis, openProducerConnection, openWorkerConnection, waitForConnection } from './redis/connection.ts';
import { queueNameOf, redisAccessOf } from './redis/probe.ts';
import { type Prober, startProber } from './redis/prober.ts';
import { type RedisFault, toRedisFault } from './redis/refusals.ts';
import type { RedisTarget } from './redis/target.ts';
import { createRedisWatch, type RedisWatch } from './redis/watch.ts';
import type { QueueCounts, StopOptions, SyncQueue } from './sync-queue.ts';
import { closeWorker, type ErrorThrottle, startWorker } from './worker.ts';

export interface BullmqQueueOptions {
  /**
   * Becomes part of the queue's name, so that several ledgers can use one Redis without taking each other's jobs.
   * Letters, digits, `-` and `_`.
   */
  ledgerId: string;
  target: RedisTarget;
  logger: Logger;
  settings?: Partial<QueueSettings>;
}

/**
 * Connects to the queue of one ledger and tests whether Redis is usable, within about 5 s. Succeeds even if Redis is
 * away or refuses commands: the test is repeated in the background.
 */
export async function openBullmqQueue(options: BullmqQueueOptions): Promise<SyncQueue> {
  const { ledgerId, target, logger } = options;
  if (!/^[\w-]+$/.test(ledgerId)) {
    throw new AppError('bad_ledger_id', `ledger id ${JSON.stringify(ledgerId)} cannot name a queue`);
  }
  const watch = createRedisWatch(target, logger);
  const producer = openProducerConnection(target, watch);
  await waitForConnection(producer).catch((error: Error) => {
    if (watch.fault === null) watch.recordProbe(toRedisFault(error, redisAccessOf(producer)));
  });
  const queue = new BullmqQueue(options, watch, producer);
  await queue.probe();
  return queue;
}

class BullmqQueue implements SyncQueue {
  readonly #options: BullmqQueueOptions;
  readonly #settings: QueueSettings;
  readonly #watch: RedisWatch;
  readonly #producer: Redis;
  readonly #queue: Queue<SyncJob, unknown, string>;
  readonly #prober: Prober;
  readonly #running = new Set<Promise<unknown>>();
  readonly #stopper = new AbortController();
  readonly #unsubscribers: readonly (() => void)[];
  #handle: SyncHandler | null = null;
  #worker: { worker: Worker; connection: Redis; throttle: ErrorThrottle } | null = null;
  #stopped: Promise<boolean> | null = null;

  constructor(options: BullmqQueueOptions, watch: RedisWatch, producer: Redis) {
    const { ledgerId, logger, settings } = options;
    this.#options = options;
    this.#settings = { ...DEFAULT_SETTINGS, ...settings };
    this.#watch = watch;
    this.#producer = producer;
    // Skips the version check, because it sends a command at the start: if Redis is away then, BullMQ's queue stays
    // unusable.
    const queueOptions = { connection: producer, skipWaitingForReady: true, skipVersionCheck: true };
    this.#queue = new bullmq.Queue(queueNameOf(ledgerId), queueOptions);
    this.#queue.on('error', ({ message: reason }) => logger.debug({ queue: this.#queue.name, reason }, 'queue error'));
    this.#prober = startProber({
      connection: producer,
      watch,
      ledgerId,
      intervalMs: this.#settings.heartbeatMs,
      onPass: () => this.#updateWorker(),
    });
    this.#unsubscribers = [watch.onLost(() => this.#updateWorker()), watch.onBack(() => this.#updateWorker())];
  }

  probe(): Promise<void> {
    return this.#prober.probe();
  }

  start(handle: SyncHandler): void {
    if (this.#stopped !== null) return;
    this.#handle ??= handle;
    this.#updateWorker();
  }

  /**
   * Runs the worker while Redis is up and pauses it otherwise. BullMQ repeats a refused command at once, so a worker
   * that is not paused would occupy the processor and block signals.
   */
  #updateWorker(): void {
    if (this.#stopped !== null || this.#handle === null) return;
    if (this.#worker !== null) this.#worker.throttle.update();
    else if (this.#watch.isUp) this.#worker = this.#openWorker(this.#handle);
  }

  #openWorker(handle: SyncHandler): { worker: Worker; connection: Redis; throttle: ErrorThrottle } {
    const { target, logger } = this.#options;
    const watch = this.#watch;
    const connection = openWorkerConnection(target, watch, this.#prober.facts?.version !== null);
    const trackHandler = (handler: Promise<unknown>): void => {
      this.#running.add(handler);
      const done = (): boolean => this.#running.delete(handler);
      handler.then(done, done);
    };
    const { worker, throttle } = startWorker<SyncJob>({
      queueName: this.#queue.name,
      connection,
      watch,
      logger,
      handle,
      track: trackHandler,
      onRefused: (fault) => this.#prober.suspect(fault),
      concurrency: this.#settings.syncConcurrency,
      stopSignal: this.#stopper.signal,
    });
    return { worker, connection, throttle };
  }

  /**
   * Adds a job unless the workspace already has one. Only BullMQ's deduplication key for the workspace decides that,
   * within the command that adds the job. The key lasts until the job has ended; a key that was left without a job is
   * replaced. The job id is unique, so that it never equals the id of an earlier job.
   */
  async addSync(job: SyncJob): Promise<'added' | 'exists'> {
    const jobId = `${syncJobId(job)}.${randomId()}`;
    const deduplication = { id: redisWorkspaceName(job.workspaceId) };
    const options = { jobId, attempts: 1, deduplication, ...SYNC_RETENTION };
    const { id } = await this.#call(() => this.#queue.add(job.kind, job, options));
    return id === jobId ? 'added' : 'exists';
  }

  counts(): Promise<QueueCounts> {
    return this.#call(async () => {
      const counts = await this.#queue.getJobCounts('waiting', 'active', 'delayed', 'completed', 'failed');
      const { waiting = 0, active = 0, delayed = 0, completed = 0, failed = 0 } = counts;
      return { waiting, active, delayed, completed, failed };
    });
  }

  waitingSyncs(): Promise<Map<string, number>> {
    return this.#call(async () => {
      const jobs = await this.#queue.getJobs(['waiting']);
      return new Map(jobs.map(({ data, timestamp }) => [data.workspaceId, timestamp]));
    });
  }

  ping(): Promise<number> {
    return this.#call(async () => {
      const startedMs = systemClock.monotonic();
      await this.#producer.ping();
      return systemClock.monotonic() - startedMs;
    });
  }

  get redisUp(): boolean {
    return this.#watch.isUp;
  }

  get redisFault(): RedisFault | null {
    return this.#watch.fault;
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
    this.#worker?.throttle.end();
    const closed = worker === undefined || (await closeWorker(worker, this.#running, this.#watch, remainingMs));
    endGrace();
    stopper.abort(new StoppingError());
    if (!closed) this.#options.logger.warn({ running: this.#running.size }, 'stopped before all jobs ended');
    this.#prober.end();
    for (const end of this.#unsubscribers) end();
    await settlesWithin(this.#queue.close(), remainingMs());
    this.#producer.disconnect();
    this.#worker?.connection.disconnect();
    return closed;
  }

  #call<T>(call: () => Promise<T>): Promise<T> {
    return callRedis({ connection: this.#producer, target: this.#options.target, watch: this.#watch }, call);
  }
}
