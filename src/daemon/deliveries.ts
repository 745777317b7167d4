import { EventEmitter } from 'node:events';
import type { Cancel } from '../core/clock.ts';
import { settlesWithin } from '../core/deadline.ts';
import { summarizeError } from '../core/errors.ts';
import { type PeriodicTask, startPeriodicTask } from '../core/periodic-task.ts';
import { createRepeatLimit, type RepeatLimit } from '../core/repeat-limit.ts';
import { StoppingError } from '../queue/errors.ts';
import type { Context } from '../wiring/context.ts';

const SWEEP_INTERVAL_MS = 30_000;
/** Messages of one channel that are under way at once. */
const SLOTS = 4;
/** Messages of one channel that one sweep looks at; more are looked at once these have had their turn. */
const MOST_A_SWEEP = 1000;
/** A sweep comes so long after what asks for it at the earliest: much that happens at once is one sweep. */
const SHORTEST_REST_MS = 100;

/** A line that says the same as one before comes this late at the earliest, with the number of those that were left out. */
const SAME_LINE_MS = 60_000;

export type Outbox = Pick<Context, 'compose' | 'dueDeliveries' | 'untilNextDueMs' | 'deliver' | 'clock' | 'logger'>;

interface Lane {
  channel: string;
  due: string[];
  underWay: Map<string, Promise<void>>;
}

/**
 * Sends what is due: at the start, whenever a sweep is asked for, when something becomes due, and every half minute. The ledger
 * alone says what is due, so that no crash loses any. Each channel has slots of its own: a receiver that hangs keeps no other
 * waiting.
 */
export class Deliveries {
  readonly #outbox: Outbox;
  readonly #lanes = new Map<string, Lane>();
  readonly #stopper = new AbortController();
  readonly #task: PeriodicTask;
  readonly #repeats: RepeatLimit;
  #stopped = false;
  #endRest: Cancel = () => undefined;
  #restEndsMs = Number.POSITIVE_INFINITY;

  constructor(outbox: Outbox) {
    const { clock, logger } = outbox;
    this.#outbox = outbox;
    this.#repeats = createRepeatLimit(SAME_LINE_MS, clock);
    this.#task = startPeriodicTask({
      clock,
      logger,
      intervalMs: SWEEP_INTERVAL_MS,
      atOnce: true,
      failed: 'notifications not looked for, they stay in the ledger',
      work: () => this.#look(),
    });
  }

  /** Looks for what is due and has it sent; resolves when that has begun. Never rejects. */
  sweep(): Promise<void> {
    return this.#task.rerun();
  }

  /** Begins no more; after `graceMs` what is under way is cut off, uncounted. Resolves when all have ended, or by the deadline. */
  async stop({ graceMs, deadlineMs }: { graceMs: number; deadlineMs: number }): Promise<void> {
    const { clock } = this.#outbox;
    this.#stopped = true;
    this.#endRest();
    const endGrace = clock.after(graceMs, () => this.#stopper.abort(new StoppingError()));
    await this.#task.stop();
    const underWay = [...this.#lanes.values()].flatMap((lane) => [...lane.underWay.values()]);
    await settlesWithin(Promise.all(underWay), deadlineMs, clock);
    endGrace();
  }

  async #look(): Promise<void> {
    const outbox = this.#outbox;
    await outbox.compose().catch((error: unknown) => {
      const { code, message } = summarizeError(error);
      outbox.logger.warn({ code, reason: message }, 'what is due to be told was not composed, it stays in the ledger');
    });
    const due = outbox.dueDeliveries(MOST_A_SWEEP);
    for (const [channel, own] of Map.groupBy(due, (delivery) => delivery.channel)) {
      const lane = this.#lanes.get(channel) ?? { channel, due: [], underWay: new Map() };
      this.#lanes.set(channel, lane);
      lane.due = own.map(({ notificationId }) => notificationId).filter((id) => !lane.underWay.has(id));
      this.#fill(lane);
    }
    const restMs = outbox.untilNextDueMs();
    if (restMs !== null) this.#sweepIn(restMs);
  }

  #fill(lane: Lane): void {
    while (!this.#stopped && lane.underWay.size < SLOTS) {
      const notificationId = lane.due.shift();
      if (notificationId === undefined) break;
      const ended = this.#attempt(lane, notificationId).then((isHandled) => {
        lane.underWay.delete(notificationId);
        this.#fill(lane);
        // More may be due to who has had all of this, and others are told of a channel that fails.
        if (isHandled && lane.due.length === 0) this.#sweepIn(0);
      });
      lane.underWay.set(notificationId, ended);
    }
  }

  async #attempt(lane: Lane, notificationId: string): Promise<boolean> {
    const { logger } = this.#outbox;
    try {
      const outcome = await this.#outbox.deliver(notificationId, this.#stopper.signal);
      const { state } = outcome;
      if (state === 'pending') {
        const { channel } = lane;
        // A channel that refuses one message refuses the others for the same reason.
        this.#repeats(`${channel} ${outcome.reason}`, (leftOut) => {
          const more = leftOut === 0 ? {} : { leftOut };
          logger.warn(
            { notificationId, channel, ...outcome, ...more },
            'notification not delivered, it will be tried again',
          );
        });
      } else if (state === 'delivered' && outcome.refused !== undefined) {
        const { channel } = lane;
        const { refused: reason } = outcome;
        this.#repeats(`${channel} ${reason}`, () => {
          logger.warn({ notificationId, channel, reason }, 'notification not accepted for all recipients');
        });
      } else if (state !== 'dead') {
        logger[state === 'delivered' ? 'info' : 'debug']({ notificationId, state }, 'notification handled');
      }
      return state !== 'skipped';
    } catch (error) {
      if (this.#stopper.signal.aborted) return false;
      const { code, message } = summarizeError(error);
      logger.warn({ notificationId, code, reason: message }, 'notification not handled, it stays in the ledger');
      // What keeps one out keeps the others out, too.
      lane.due = [];
      return false;
    }
  }

  #sweepIn(delayMs: number): void {
    const { clock } = this.#outbox;
    const atMs = clock.monotonic() + Math.max(SHORTEST_REST_MS, delayMs);
    if (this.#stopped || delayMs >= SWEEP_INTERVAL_MS || atMs >= this.#restEndsMs) return;
    this.#endRest();
    this.#restEndsMs = atMs;
    const wake = (): void => {
      this.#restEndsMs = Number.POSITIVE_INFINITY;
      void this.sweep();
    };
    this.#endRest = clock.after(atMs - clock.monotonic(), wake, { background: true });
  }
}

interface DaemonEventMap {
  notified: [];
}

export type DaemonEvents = EventEmitter<DaemonEventMap>;

export function createDaemonEvents(): DaemonEvents {
  return new EventEmitter<DaemonEventMap>();
}
