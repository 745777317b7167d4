import type { DeliveryOutcome } from '../alerts/outbox/deliver.ts';
import type { WaitingNotification } from '../alerts/outbox/outbox.ts';
import type { Cancel } from '../core/clock.ts';
import { settlesWithin } from '../core/deadline.ts';
import { summarizeError } from '../core/errors.ts';
import { type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';
import { StoppingError } from '../queue/errors.ts';

const SWEEP_INTERVAL_MS = 30_000;
/** Notifications of one channel that are under way at once. */
const SLOTS = 4;
/** Notifications of one channel that one sweep looks at; more are looked at once these have had their turn. */
const MOST_A_SWEEP = 1000;
/** A retry that is due sooner waits so long: many of them are one sweep. */
const SHORTEST_REST_MS = 100;

export interface DeliveriesOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  /** Makes digests of what waits for one that is due. */
  composeDigests(): Promise<unknown>;
  /** What waits in the outbox, at most `limit` of each channel, the longest due first. */
  waiting(limit: number): WaitingNotification[];
  /** Makes one attempt; see `deliverNotification`. */
  deliver(notificationId: string, signal: AbortSignal): Promise<DeliveryOutcome>;
  /** False for what must not be sent now. */
  mayDeliver(notificationId: string): boolean;
}

export interface Deliveries {
  /** Looks for what is due and has it sent; resolves when that has begun. Never rejects. */
  sweep(): Promise<void>;
  /** Begins no more; after `graceMs` what is under way is cut off, uncounted. Resolves when all have ended, or by the deadline. */
  stop(times: { graceMs: number; deadlineMs: number }): Promise<void>;
}

/** What one channel has in hand. */
interface Lane {
  due: string[];
  underWay: Map<string, Promise<void>>;
  /** The sweep may have left some out. */
  more: boolean;
}

/**
 * Sends what is due in the outbox: at the start, whenever a sweep is asked for, when the next retry is due, and every half
 * minute. The outbox alone says what is due, so that no crash loses any. Each channel has slots of its own: a receiver that
 * hangs keeps no other waiting.
 */
export function startDeliveries(options: DeliveriesOptions): Deliveries {
  const { clock, logger, mayDeliver } = options;
  const lanes = new Map<string, Lane>();
  const stopper = new AbortController();
  let stopped = false;
  let endRest: Cancel = () => undefined;
  let restEndsMs = Number.POSITIVE_INFINITY;

  const laneOf = (channel: string): Lane => {
    const lane = lanes.get(channel) ?? { due: [], underWay: new Map(), more: false };
    lanes.set(channel, lane);
    return lane;
  };
  const attempt = async (lane: Lane, notificationId: string): Promise<void> => {
    try {
      const outcome = await options.deliver(notificationId, stopper.signal);
      if (outcome.state === 'pending') {
        logger.warn({ notificationId, ...outcome }, 'notification not delivered, it will be tried again');
        sweepIn(outcome.delayMs);
      } else if (outcome.state === 'dead') {
        // The other channels are told of it.
        void sweep.again();
      } else {
        const level = outcome.state === 'delivered' ? 'info' : 'debug';
        logger[level]({ notificationId, state: outcome.state }, 'notification handled');
      }
    } catch (error) {
      if (stopper.signal.aborted) return;
      const { code, message } = summarizeError(error);
      logger.warn({ notificationId, code, reason: message }, 'notification not handled, it stays in the outbox');
      // What keeps one out keeps the others out, too.
      lane.due = [];
      lane.more = false;
    }
  };
  const sweepIn = (delayMs: number): void => {
    const atMs = clock.monotonic() + Math.max(SHORTEST_REST_MS, delayMs);
    if (stopped || delayMs >= SWEEP_INTERVAL_MS || atMs >= restEndsMs) return;
    endRest();
    restEndsMs = atMs;
    const wake = (): void => {
      restEndsMs = Number.POSITIVE_INFINITY;
      void sweep.again();
    };
    endRest = clock.after(atMs - clock.monotonic(), wake, { background: true });
  };
  const fill = (lane: Lane): void => {
    while (!stopped && lane.underWay.size < SLOTS) {
      const notificationId = lane.due.shift();
      if (notificationId === undefined) break;
      if (!mayDeliver(notificationId)) continue;
      const ended = attempt(lane, notificationId).then(() => {
        lane.underWay.delete(notificationId);
        fill(lane);
      });
      lane.underWay.set(notificationId, ended);
    }
    if (lane.due.length > 0 || !lane.more) return;
    lane.more = false;
    void sweep.again();
  };
  const sweep = startPeriodicTask({
    clock,
    logger,
    intervalMs: SWEEP_INTERVAL_MS,
    atOnce: true,
    failed: 'notifications not looked for, they stay in the outbox',
    async work() {
      await options.composeDigests().catch((error: unknown) => {
        const { code, message } = summarizeError(error);
        logger.warn({ code, reason: message }, 'digests not made, what waits for them stays in the outbox');
      });
      const nowMs = clock.now();
      const waiting = options.waiting(MOST_A_SWEEP);
      for (const [channel, own] of Map.groupBy(waiting, (notification) => notification.channel)) {
        const lane = laneOf(channel);
        lane.due = own
          .filter(({ nextAttemptAtMs }) => nextAttemptAtMs <= nowMs)
          .map(({ notificationId }) => notificationId)
          .filter((id) => !lane.underWay.has(id) && mayDeliver(id));
        lane.more = own.length === MOST_A_SWEEP && lane.due.length > 0;
        fill(lane);
      }
      sweepIn(Math.min(...waiting.map(({ nextAttemptAtMs }) => nextAttemptAtMs).filter((ms) => ms > nowMs)) - nowMs);
    },
  });
  return {
    sweep: sweep.again,
    async stop({ graceMs, deadlineMs }) {
      stopped = true;
      endRest();
      const endGrace = clock.after(graceMs, () => stopper.abort(new StoppingError()));
      await sweep.stop();
      const underWay = [...lanes.values()].flatMap((lane) => [...lane.underWay.values()]);
      await settlesWithin(Promise.all(underWay), deadlineMs, clock);
      endGrace();
    },
  };
}
