import type { OutboxRow } from '../alerts/outbox/outbox.ts';
import { summarizeError } from '../core/errors.ts';
import { type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';

const SWEEP_INTERVAL_MS = 30_000;
/** A notification this long overdue has lost its job, or its job found it in the hands of a sender that died. */
const OVERDUE_MS = 90_000;

export interface OutboxSweepOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  /** Makes digests of what waits for one that is due. */
  composeDigests(): Promise<unknown>;
  /** The notifications that wait, the longest due first. */
  pending(): OutboxRow[];
  addDelivery(delivery: { notificationId: string; attempt: number; round?: number; delayMs: number }): Promise<void>;
  onRedisBack(listener: () => void): () => void;
}

export interface OutboxSweep {
  /** Enqueues everything that waits in the outbox. Jobs that exist are left alone. */
  sweep(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Makes the digests that are due and enqueues what waits in the outbox: at the start, when Redis is back, and every half minute. The outbox alone says
 * what is due; a queue that was lost, or a crash between commit and enqueueing, is made good here.
 */
export function startOutboxSweep(options: OutboxSweepOptions): OutboxSweep {
  const { clock, logger } = options;
  const task = startPeriodicTask({
    clock,
    logger,
    intervalMs: SWEEP_INTERVAL_MS,
    atOnce: true,
    failed: 'notifications not enqueued, they stay in the outbox',
    async work() {
      await options.composeDigests().catch((error: unknown) => {
        const { code, message } = summarizeError(error);
        logger.warn({ code, reason: message }, 'digests not made, what waits for them stays in the outbox');
      });
      for (const { notificationId, attempts, nextAttemptAtMs } of options.pending()) {
        const overdueMs = clock.now() - nextAttemptAtMs;
        const round = Math.floor(overdueMs / OVERDUE_MS);
        await options.addDelivery({
          notificationId,
          attempt: attempts + 1,
          ...(round > 0 ? { round } : {}),
          delayMs: Math.max(0, -overdueMs),
        });
      }
    },
  });
  // A sweep under way may have read the outbox before the caller's rows were in it.
  const unsubscribe = options.onRedisBack(() => void task.again());
  return {
    sweep: task.again,
    async stop() {
      unsubscribe();
      await task.stop();
    },
  };
}
