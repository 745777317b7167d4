import { createRequire } from 'node:module';
import type { Job, Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { systemClock } from '../core/clock.ts';
import { settlesWithin } from '../core/deadline.ts';
import { AppError, summarizeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { randomId } from '../core/randomness.ts';
import { createRepeatLimit } from '../core/repeat-limit.ts';
import { StoppingError } from './errors.ts';
import {
  DEFAULT_SETTINGS,
  type JobContext,
  LOCK_DURATION_MS,
  MAX_STALLED_COUNT,
  type QueueSettings,
  STALLED_INTERVAL_MS,
  SYNC_RETENTION,
  type SyncHandler,
  type SyncJob,
  syncJobId,
  WORKER_RETRY_MS,
  workspaceMark,
} from './jobs.ts';
import {
  askRedis,
  createRedisWatch,
  openProducerConnection,
  openWorkerConnection,
  type RedisWatch,
  startHeartbeat,
  whenReady,
} from './redis/connection.ts';
import type { RedisTarget } from './redis/target.ts';
import type { QueueCounts, StopOptions, SyncQueue } from './sync-queue.ts';

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

interface WorkerOptions<D> {
  queueName: string;
  connection: Redis;
  watch: RedisWatch;
  logger: Logger;
  concurrency: number;
  stopSignal: AbortSignal;
  handle(data: D, context: JobContext): Promise<unknown>;
  track(running: Promise<unknown>): void;
}

/** Starts taking jobs at once. Errors are logged; none of them ends the worker. */
function startWorker<D>(options: WorkerOptions<D>): Worker<D> {
  const { queueName, connection, watch, concurrency } = options;
  const limit = createRepeatLimit();
  const logger = options.logger.child({ queue: queueName });
  // Two parameters and not three: with a third BullMQ makes a signal of its own, whose reason is a string and no error.
  const worker = new bullmq.Worker<D>(queueName, async (job, token) => processJob(job, token, options, logger), {
    connection,
    concurrency,
    lockDuration: LOCK_DURATION_MS,
    stalledInterval: STALLED_INTERVAL_MS,
    maxStalledCount: MAX_STALLED_COUNT,
    runRetryDelay: WORKER_RETRY_MS,
  });
  worker.on('failed', (job, error) => {
    const { code, message, retryable } = summarizeError(error);
    const fields = { job: job?.id, code, retryable, reason: message };
    // What is not ours by design is a defect: its stack is needed to find it.
    logger.warn(code === 'internal' ? { ...fields, stack: error.stack } : fields, 'job failed');
  });
  worker.on('stalled', (jobId) => logger.warn({ job: jobId }, 'the job of a lost worker is taken up again'));
  worker.on('error', (error) => {
    // While Redis is away the watch has said so; each connection and each command would say it again.
    const level = watch.up ? 'error' : 'debug';
    const reason = error.message;
    limit(`${level} ${reason}`, (leftOut) => logger[level]({ reason, leftOut }, 'queue worker error'));
  });
  return worker;
}

async function processJob<D>(
  job: Job<D>,
  token: string | undefined,
  options: WorkerOptions<D>,
  logger: Logger,
): Promise<unknown> {
  const { stopSignal } = options;
  const context: JobContext = {
    signal: stopSignal,
    progress(state) {
      job.updateProgress(state).catch((error: Error) => {
        logger.debug({ job: job.id, reason: error.message }, 'progress not shown');
      });
    },
  };
  try {
    stopSignal.throwIfAborted();
    const running = options.handle(job.data, context);
    options.track(running);
    return storable(await running);
  } catch (error) {
    if (stopSignal.aborted) {
      // Cut off by us and not failed: the next daemon starts it at once, and no attempt is spent.
      await job.moveToWait(token);
      throw new bullmq.WaitingError();
    }
    throw error instanceof Error ? error : new AppError('internal', String(error), { retryable: true });
  }
}

/** Results are kept as JSON. One that is not (a bigint) would fail a job whose work is done. */
function storable(result: unknown): unknown {
  const text = JSON.stringify(result, (_key, value) => (typeof value === 'bigint' ? value.toString() : value));
  return text === undefined ? null : JSON.parse(text);
}

/**
 * Closes the worker once its handlers have ended, within the time that remains. BullMQ's `close` hangs while Redis is away
 * and its `close(true)`, which does not, is heeded in the first call only: so the handlers come first then.
 */
async function closeWorker(
  worker: Worker,
  running: ReadonlySet<Promise<unknown>>,
  watch: RedisWatch,
  remainingMs: () => number,
): Promise<boolean> {
  if (!watch.up) {
    await worker.pause(true).catch(() => undefined);
    await settlesWithin(Promise.allSettled(running), remainingMs());
  }
  return (await settlesWithin(worker.close(!watch.up), remainingMs())) && running.size === 0;
}

/**
 * BullMQ, which is CommonJS, required instead of imported: for an import Node reads through the source of the whole
 * package first to learn its names, which takes 50 MB for a moment and leaves a part of them to a daemon for good.
 */
const bullmq: typeof import('bullmq') = createRequire(import.meta.url)('bullmq');
