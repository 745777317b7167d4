import type { Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { backoffMs } from '../core/backoff.ts';
import { type Cancel, systemClock } from '../core/clock.ts';
import { settlesWithin } from '../core/deadline.ts';
import { AppError, summarizeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { createRepeatLimit } from '../core/repeat-limit.ts';
import { bullmq } from './bullmq.ts';
import { type JobContext, LOCK_DURATION_MS, MAX_STALLED_COUNT, STALLED_INTERVAL_MS, WORKER_RETRY_MS } from './jobs.ts';
import { redisAccessOf } from './redis/probe.ts';
import { isRedisReply, type RedisFault, toRedisFault } from './redis/refusals.ts';
import type { RedisWatch } from './redis/watch.ts';

interface WorkerOptions<D> {
  queueName: string;
  connection: Redis;
  watch: RedisWatch;
  logger: Logger;
  concurrency: number;
  stopSignal: AbortSignal;
  handle(data: D, context: JobContext): Promise<unknown>;
  track(running: Promise<unknown>): void;
  onRefused(fault: RedisFault): void;
}

/** Starts a worker, which begins to take jobs at once. An error is logged and pauses the worker, but never ends it. */
export function startWorker<D>(options: WorkerOptions<D>): { worker: Worker<D>; throttle: ErrorThrottle } {
  const { queueName, connection, watch, concurrency } = options;
  const limit = createRepeatLimit();
  const logger = options.logger.child({ queue: queueName });
  // This function must have two parameters: for a function with three, BullMQ creates a signal whose abort reason is a
  // string and not an error.
  const worker = new bullmq.Worker<D>(queueName, async (job, token) => processJob(job, token, options, logger), {
    connection,
    concurrency,
    lockDuration: LOCK_DURATION_MS,
    stalledInterval: STALLED_INTERVAL_MS,
    maxStalledCount: MAX_STALLED_COUNT,
    runRetryDelay: WORKER_RETRY_MS,
    // Skips the version check, because it runs INFO: if Redis refuses that, the worker never sends another command.
    skipVersionCheck: true,
  });
  const throttle = createErrorThrottle(worker, watch);
  worker.on('failed', (job, error) => {
    const { code, message, retryable } = summarizeError(error);
    const fields = { job: job?.id, code, retryable, reason: message };
    // An error with the code `internal` is a defect of the program. The stack shows where it is.
    logger.warn(code === 'internal' ? { ...fields, stack: error.stack } : fields, 'job failed');
  });
  worker.on('stalled', (jobId) => logger.warn({ job: jobId }, 'recovered the job of a lost worker'));
  worker.on('error', (error) => {
    throttle.pause();
    if (isRedisReply(error)) options.onRefused(toRedisFault(error, redisAccessOf(connection)));
    // The outage of Redis has been logged once. Each connection and command would log it again.
    const level = watch.isUp && !isRedisReply(error) ? 'error' : 'debug';
    const reason = error.message;
    limit(`${level} ${reason}`, (leftOut) => logger[level]({ reason, leftOut }, 'queue worker error'));
  });
  return { worker, throttle };
}

export interface ErrorThrottle {
  /** Pauses the worker at once. It resumes after a backoff if Redis is up. */
  pause(): void;
  /** Resumes or pauses the worker according to Redis and the last errors. */
  update(): void;
  end(): void;
}

const THROTTLE_BACKOFF = { baseMs: 50, maxMs: 15_000 };
/** An error this long after the previous one does not increase the backoff. */
const UNRELATED_ERRORS_MS = 30_000;

/** Creates a throttle that limits how often a worker can fail, whatever its errors are. */
function createErrorThrottle(worker: Worker, watch: RedisWatch): ErrorThrottle {
  let errors = 0;
  let lastMs = 0;
  let cancelResume: Cancel | null = null;
  let ended = false;
  const pause = (): void => {
    // BullMQ's loop fetches no more jobs from here on, before the promise is settled.
    void worker.pause(true).catch(() => undefined);
  };
  const update = (): void => {
    if (ended || cancelResume !== null) return;
    if (watch.fault !== null) pause();
    else if (worker.isPaused() || !worker.isRunning()) void worker.resume();
  };
  return {
    pause() {
      pause();
      if (cancelResume !== null || ended) return;
      const nowMs = systemClock.monotonic();
      errors = nowMs - lastMs > UNRELATED_ERRORS_MS ? 0 : errors + 1;
      lastMs = nowMs;
      cancelResume = systemClock.after(backoffMs(errors, THROTTLE_BACKOFF), () => {
        cancelResume = null;
        update();
      });
    },
    update,
    end() {
      ended = true;
      cancelResume?.();
    },
  };
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
    return toStorable(await running);
  } catch (error) {
    if (stopSignal.aborted) {
      // The stop interrupted the job, so it has not failed: the next daemon starts it at once, and no attempt is
      // counted.
      await job.moveToWait(token);
      throw new bullmq.WaitingError();
    }
    throw error instanceof Error ? error : new AppError('internal', String(error), { retryable: true });
  }
}

/**
 * Converts a result to JSON values, with bigints as strings: a result that cannot be stored would fail a finished job.
 */
function toStorable(result: unknown): unknown {
  const text = JSON.stringify(result, (_key, value) => (typeof value === 'bigint' ? value.toString() : value));
  return text === undefined ? null : JSON.parse(text);
}

/**
 * Closes the worker after its running jobs have ended, within the remaining time. Returns false if the time was too
 * short. While Redis is away, BullMQ's `close()` hangs. `close(true)` does not, but works only if no `close()` preceded
 * it, so without Redis the jobs are awaited first.
 */
export async function closeWorker(
  worker: Worker,
  running: ReadonlySet<Promise<unknown>>,
  watch: RedisWatch,
  remainingMs: () => number,
): Promise<boolean> {
  if (!watch.isUp) {
    await worker.pause(true).catch(() => undefined);
    await settlesWithin(Promise.allSettled(running), remainingMs());
  }
  return (await settlesWithin(worker.close(!watch.isUp), remainingMs())) && running.size === 0;
}
