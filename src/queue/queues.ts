import type { Job, Queue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { systemClock } from '../core/clock.ts';
import { within } from '../core/deadline.ts';
import { AppError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { bullmq } from './bullmq.ts';
import { RedisUnavailableError, StoppingError } from './errors.ts';
import { type JobHandlers, type SyncJob, syncJobId, workspaceMark } from './jobs.ts';
import {
  createRedisWatch,
  describeTarget,
  openProducerConnection,
  openWorkerConnection,
  type RedisTarget,
  whenReady,
} from './redis/connection.ts';
import { startHeartbeat } from './redis/heartbeat.ts';
import { type Turns, takeTurns } from './redis/shared-rate.ts';
import { DEFAULT_SETTINGS, PRODUCER_DEADLINE_MS, type QueueSettings, SYNC_RETENTION } from './settings.ts';
import { closeWorkers, startWorker } from './worker.ts';

export interface QueueSystemOptions {
  /** Names the queues: two ledgers, or two copies of one, on one Redis never take each other's jobs. Letters, digits, `-`, `_`. */
  ledgerId: string;
  target: RedisTarget;
  logger: Logger;
  handlers: JobHandlers;
  settings?: Partial<QueueSettings>;
}

/** Jobs of one queue by state. */
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

/** Every call that asks Redis ends within about 5 s, by `redis_unavailable` (retryable) when Redis is away. */
export interface QueueSystem {
  /** Begins to take jobs. Before that the system only enqueues. May be called twice. */
  start(): void;
  /**
   * Enqueues one attempt, to begin after `delayMs`. `exists`: the workspace has a job that waits or runs, this one or
   * another, and gets no second one. A finished job of the same attempt gives way: the ledger says that it is due.
   */
  addSync(job: SyncJob & { delayMs?: number }): Promise<'added' | 'exists'>;
  /** The sync jobs by state. */
  counts(): Promise<QueueCounts>;
  /** Since when the sync jobs that wait have been due, by workspace, in milliseconds since the epoch; later for one put off. */
  waitingSyncs(): Promise<Map<string, number>>;
  /** Takes turns of a host's rate, which all daemons on this Redis share; null when Redis does not answer. */
  takeTurns(host: string, wanted: number, perSecond: number): Promise<Turns | null>;
  /** Milliseconds that Redis took to answer. */
  ping(): Promise<number>;
  /** Whether all connections stand, as far as is known without asking. */
  readonly redisUp: boolean;
  /** Calls the listener when Redis is back after an outage; returns what ends the subscription. */
  onRedisBack(listener: () => void): () => void;
  /** The queues themselves, for the pages that show them. */
  readonly queues: readonly Queue[];
  /** Takes no more jobs, lets running handlers finish, closes. Resolves to false when the deadline cut it off. */
  stop(options?: StopOptions): Promise<boolean>;
}

/** Connects to the queues of one ledger. Does not fail when Redis is away: it is waited for in the background. */
export async function openQueueSystem(options: QueueSystemOptions): Promise<QueueSystem> {
  const { ledgerId, target, logger, handlers } = options;
  if (!/^[\w-]+$/.test(ledgerId)) {
    throw new AppError('bad_ledger_id', `ledger id ${JSON.stringify(ledgerId)} cannot name a queue`);
  }
  const settings: QueueSettings = { ...DEFAULT_SETTINGS, ...options.settings };
  const watch = createRedisWatch(target, logger);
  const producer = openProducerConnection(target, watch);
  await whenReady(producer).catch(() => undefined);

  const openQueue = <D>(name: string): Queue<D, unknown, string> => {
    // The version check would be a command of its own at start: refused while Redis is away, it spoils the queue for good.
    const queueOptions = { connection: producer, skipWaitingForReady: true, skipVersionCheck: true };
    const queue = new bullmq.Queue<D, unknown, string>(`ul-${ledgerId}-${name}`, queueOptions);
    queue.on('error', (error) => logger.debug({ queue: queue.name, reason: error.message }, 'queue error'));
    return queue;
  };
  const syncQueue = openQueue<SyncJob>('sync');

  const ask = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      return await within(
        whenReady(producer).then(() => call()),
        PRODUCER_DEADLINE_MS,
      );
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new RedisUnavailableError(describeTarget(target), watch.up ? reason : (watch.lastFault ?? reason));
    }
  };

  const stopHeartbeat = startHeartbeat({
    connection: producer,
    watch,
    key: `bull:ul-${ledgerId}-heartbeat`,
    intervalMs: settings.heartbeatMs,
  });
  const workers: Worker[] = [];
  const running = new Set<Promise<unknown>>();
  const stopper = new AbortController();
  let workerConnection: Redis | undefined;
  let stopped: Promise<boolean> | undefined;

  const start = (): void => {
    if (workerConnection !== undefined || stopped !== undefined) return;
    const connection = openWorkerConnection(target, watch);
    workerConnection = connection;
    const track = (handler: Promise<unknown>): void => {
      running.add(handler);
      const done = (): boolean => running.delete(handler);
      handler.then(done, done);
    };
    const common = { connection, watch, logger, track, stopSignal: stopper.signal };
    workers.push(
      startWorker<SyncJob>({
        ...common,
        queueName: syncQueue.name,
        concurrency: settings.syncConcurrency,
        handle: (job, context) => handlers.sync(job, context),
      }),
    );
  };

  const shutDown = async ({ deadlineMs = 10_000, graceMs = (deadlineMs * 2) / 3 }: StopOptions): Promise<boolean> => {
    const end = systemClock.monotonic() + deadlineMs;
    const endGrace = systemClock.after(graceMs, () => stopper.abort(new StoppingError()));
    const closed = await closeWorkers(workers, running, watch, () => Math.max(0, end - systemClock.monotonic()));
    endGrace();
    stopper.abort(new StoppingError());
    if (!closed) logger.warn({ running: running.size }, 'stopped before all jobs had ended');
    stopHeartbeat();
    await Promise.allSettled([syncQueue.close()]);
    producer.disconnect();
    workerConnection?.disconnect();
    return closed;
  };

  return {
    start,
    async addSync({ delayMs = 0, ...job }) {
      const jobId = syncJobId(job);
      const deduplication = { id: workspaceMark(job.workspaceId) };
      return ask(async () => {
        const holderId = await syncQueue.getDeduplicationJobId(deduplication.id);
        if (holderId !== null && isOpen(await syncQueue.getJob(holderId))) return 'exists';
        // A mark whose job is gone would keep the workspace out for ever.
        if (holderId !== null) await syncQueue.removeDeduplicationKey(deduplication.id);
        const existing = await syncQueue.getJob(jobId);
        if (isOpen(existing)) return 'exists';
        await existing?.remove();
        const options = { jobId, delay: delayMs, attempts: 1, deduplication, ...SYNC_RETENTION };
        const added = await syncQueue.add(job.kind, job, options);
        return added.id === jobId ? 'added' : 'exists';
      });
    },
    counts: () => ask(() => countsOf(syncQueue)),
    waitingSyncs: () =>
      ask(async () => {
        const jobs = await syncQueue.getJobs(['waiting', 'delayed']);
        return new Map(jobs.map(({ data, timestamp, delay }) => [data.workspaceId, timestamp + delay]));
      }),
    takeTurns: (host, wanted, perSecond) => takeTurns(producer, host, wanted, perSecond),
    ping: () =>
      ask(async () => {
        const asked = systemClock.monotonic();
        await producer.ping();
        return systemClock.monotonic() - asked;
      }),
    get redisUp() {
      return watch.up;
    },
    onRedisBack: (listener) => watch.onBack(listener),
    queues: [syncQueue],
    stop(stopOptions = {}) {
      stopped ??= shutDown(stopOptions);
      return stopped;
    },
  };
}

/** Whether a job waits or runs. */
function isOpen(job: Job | undefined): boolean {
  return job !== undefined && job.finishedOn === undefined;
}

async function countsOf(queue: Queue): Promise<QueueCounts> {
  const counts = await queue.getJobCounts('waiting', 'active', 'delayed', 'completed', 'failed');
  const { waiting = 0, active = 0, delayed = 0, completed = 0, failed = 0 } = counts;
  return { waiting, active, delayed, completed, failed };
}
