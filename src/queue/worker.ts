import type { Job, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { type Cancel, systemClock } from '../core/clock.ts';
import { settlesWithin } from '../core/deadline.ts';
import { AppError, summarizeError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import { backoffMs } from '../core/net/retry.ts';
import { createRepeatLimit } from '../core/repeat-limit.ts';
import { bullmq } from './bullmq.ts';
import { type JobContext, LOCK_DURATION_MS, MAX_STALLED_COUNT, STALLED_INTERVAL_MS, WORKER_RETRY_MS } from './jobs.ts';
import { askedOf } from './redis/probe.ts';
import { faultOf, isReply, type RedisFault } from './redis/refusals.ts';
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
  refused(fault: RedisFault): void;
}

/** Starts taking jobs at once. Errors are logged; none of them ends the worker, but each pauses it. */
export function startWorker<D>(options: WorkerOptions<D>): { worker: Worker<D>; brake: Brake } {
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
    // Its version check is an INFO whose refusal spoils the worker for good: each command would fail without being sent.
    skipVersionCheck: true,
  });
  const brake = createBrake(worker, watch);
  worker.on('failed', (job, error) => {
    const { code, message, retryable } = summarizeError(error);
    const fields = { job: job?.id, code, retryable, reason: message };
    // What is not ours by design is a defect: its stack is needed to find it.
    logger.warn(code === 'internal' ? { ...fields, stack: error.stack } : fields, 'job failed');
  });
  worker.on('stalled', (jobId) => logger.warn({ job: jobId }, 'the job of a lost worker is taken up again'));
  worker.on('error', (error) => {
    brake.stop();
    if (isReply(error)) options.refused(faultOf(error, askedOf(connection)));
    // While Redis is away the watch has said so; each connection and each command would say it again.
    const level = watch.up && !isReply(error) ? 'error' : 'debug';
    const reason = error.message;
    limit(`${level} ${reason}`, (leftOut) => logger[level]({ reason, leftOut }, 'queue worker error'));
  });
  return { worker, brake };
}

export interface Brake {
  /** Pauses the worker at once; it runs again after a while if Redis is up. */
  stop(): void;
  /** Has the worker run or pause as Redis and the last errors have it. */
  steer(): void;
  end(): void;
}

const BRAKE_BACKOFF = { baseMs: 50, maxMs: 15_000 };
/** Errors that are further apart than this do not add up. */
const BRAKE_STABLE_MS = 30_000;

/** Bounds how often a worker fails, whatever its errors are. */
function createBrake(worker: Worker, watch: RedisWatch): Brake {
  let errors = 0;
  let lastMs = 0;
  let runAgain: Cancel | null = null;
  let ended = false;
  const pause = (): void => {
    // Takes effect before the call returns: the loop of BullMQ asks no more.
    void worker.pause(true).catch(() => undefined);
  };
  const steer = (): void => {
    if (ended || runAgain !== null) return;
    if (watch.fault !== null) pause();
    else if (worker.isPaused() || !worker.isRunning()) void worker.resume();
  };
  return {
    stop() {
      pause();
      if (runAgain !== null || ended) return;
      const nowMs = systemClock.monotonic();
      errors = nowMs - lastMs > BRAKE_STABLE_MS ? 0 : errors + 1;
      lastMs = nowMs;
      runAgain = systemClock.after(backoffMs(errors, BRAKE_BACKOFF), () => {
        runAgain = null;
        steer();
      });
    },
    steer,
    end() {
      ended = true;
      runAgain?.();
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
export async function closeWorker(
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
