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
import { accessContextOf } from './redis/probe.ts';
import { isReply, type RedisFault, redisFaultOf } from './redis/refusals.ts';
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

/** Starts a worker, which takes jobs at once. Errors are logged; none ends the worker, but each pauses it. */
export function startWorker<D>(options: WorkerOptions<D>): { worker: Worker<D>; throttle: ErrorThrottle } {
  const { queueName, connection, watch, concurrency } = options;
  const limit = createRepeatLimit();
  const logger = options.logger.child({ queue: queueName });
  // The processor must have two parameters: with a third, BullMQ creates a signal with a string as abort reason instead
  // of an error.
  const worker = new bullmq.Worker<D>(queueName, async (job, token) => processJob(job, token, options, logger), {
    connection,
    concurrency,
    lockDuration: LOCK_DURATION_MS,
    stalledInterval: STALLED_INTERVAL_MS,
    maxStalledCount: MAX_STALLED_COUNT,
    runRetryDelay: WORKER_RETRY_MS,
    // The version check runs INFO; if Redis refuses it, the worker stays unusable and sends no more commands.
    skipVersionCheck: true,
  });
  const throttle = createErrorThrottle(worker, watch);
  worker.on('failed', (job, error) => {
    const { code, message, retryable } = summarizeError(error);
    const fields = { job: job?.id, code, retryable, reason: message };
    // Any other error is a defect: its stack is needed to find it.
    logger.warn(code === 'internal' ? { ...fields, stack: error.stack } : fields, 'job failed');
  });
  worker.on('stalled', (jobId) => logger.warn({ job: jobId }, 'recovered the job of a lost worker'));
  worker.on('error', (error) => {
    throttle.pause();
    if (isReply(error)) options.onRefused(redisFaultOf(error, accessContextOf(connection)));
    // While Redis is away the watch has logged it; each connection and command would repeat it.
    const level = watch.isUp && !isReply(error) ? 'error' : 'debug';
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
/** Errors further apart than this do not increase the backoff. */
const UNRELATED_ERRORS_MS = 30_000;

/** Limits how often a worker can fail, whatever the errors are. */
function createErrorThrottle(worker: Worker, watch: RedisWatch): ErrorThrottle {
  let errors = 0;
  let lastMs = 0;
  let cancelResume: Cancel | null = null;
  let ended = false;
  const pause = (): void => {
    // Takes effect before the call returns: BullMQ's loop fetches no more jobs.
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
      // The job was interrupted and did not fail: the next daemon starts it at once, and no attempt is used up.
      await job.moveToWait(token);
      throw new bullmq.WaitingError();
    }
    throw error instanceof Error ? error : new AppError('internal', String(error), { retryable: true });
  }
}

/** Converts a result to JSON, with bigints as strings: an unstorable result would fail a job that is done. */
function toStorable(result: unknown): unknown {
  const text = JSON.stringify(result, (_key, value) => (typeof value === 'bigint' ? value.toString() : value));
  return text === undefined ? null : JSON.parse(text);
}

/**
 * Closes the worker when its handlers have ended, within the remaining time. BullMQ's `close` hangs while Redis is
 * away, and `close(true)`, which does not, works only as the first call: so without Redis the handlers are awaited
 * first.
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
