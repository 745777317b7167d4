import { EventEmitter } from 'node:events';
import type { Cancel } from '../core/clock.ts';
import { settlesWithin } from '../core/deadline.ts';
import { summarizeError } from '../core/errors.ts';
import { type PeriodicTask, startPeriodicTask } from '../core/periodic-task.ts';
import { createRepeatLimit, type RepeatLimit } from '../core/repeat-limit.ts';
import { StoppingError } from '../queue/errors.ts';
import type { Context } from '../wiring/context.ts';

const OUTBOX_INTERVAL_MS = 30_000;
/** The most messages that are sent to one channel at the same time. */
const MAX_CONCURRENT_PER_CHANNEL = 4;
/** The most due messages that are read per channel at a time. The next messages are read when these have been tried. */
const MAX_DUE_PER_CHANNEL = 1000;
/** Minimum delay before the outbox is read again, so that many simultaneous events cause one read. */
const MIN_OUTBOX_DELAY_MS = 100;

/** A repeated log line is written at most once in this time, with the number of omitted repetitions. */
const REPEATED_LINE_INTERVAL_MS = 60_000;

export type Outbox = Pick<Context, 'compose' | 'dueDeliveries' | 'untilNextDueMs' | 'deliver' | 'clock' | 'logger'>;

interface Lane {
  channel: string;
  due: string[];
  inFlight: Map<string, Promise<void>>;
}

/**
 * Sends due notifications at the start, on request, when the next notification becomes due, and every 30 seconds. The
 * outbox is in the ledger, so a crash loses no notification. Each channel has its own limit of concurrent attempts, so
 * a receiver that hangs does not delay other channels.
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
    this.#repeats = createRepeatLimit(REPEATED_LINE_INTERVAL_MS, clock);
    this.#task = startPeriodicTask({
      clock,
      logger,
      intervalMs: OUTBOX_INTERVAL_MS,
      atOnce: true,
      failed: 'could not read due notifications, they stay in the ledger',
      work: () => this.#readOutbox(),
    });
  }

  /** Starts to send due notifications. Resolves when sending has started, and never rejects. */
  sendDue(): Promise<void> {
    return this.#task.rerun();
  }

  /**
   * Starts no further attempts. After `graceMs`, aborts the running attempts, which do not count as failures. Resolves
   * when all attempts have ended, at the latest after `deadlineMs`.
   */
  async stop({ graceMs, deadlineMs }: { graceMs: number; deadlineMs: number }): Promise<void> {
    const { clock } = this.#outbox;
    this.#stopped = true;
    this.#endRest();
    const endGrace = clock.after(graceMs, () => this.#stopper.abort(new StoppingError()));
    await this.#task.stop();
    const inFlight = [...this.#lanes.values()].flatMap((lane) => [...lane.inFlight.values()]);
    await settlesWithin(Promise.all(inFlight), deadlineMs, clock);
    endGrace();
  }

  async #readOutbox(): Promise<void> {
    const outbox = this.#outbox;
    await outbox.compose().catch((error: unknown) => {
      const { code, message } = summarizeError(error);
      outbox.logger.warn({ code, reason: message }, 'could not compose due notifications, they stay in the ledger');
    });
    const due = outbox.dueDeliveries(MAX_DUE_PER_CHANNEL);
    for (const [channel, own] of Map.groupBy(due, (delivery) => delivery.channel)) {
      const lane = this.#lanes.get(channel) ?? { channel, due: [], inFlight: new Map() };
      this.#lanes.set(channel, lane);
      lane.due = own.map(({ notificationId }) => notificationId).filter((id) => !lane.inFlight.has(id));
      this.#fill(lane);
    }
    const restMs = outbox.untilNextDueMs();
    if (restMs !== null) this.#sendDueIn(restMs);
  }

  #fill(lane: Lane): void {
    while (!this.#stopped && lane.inFlight.size < MAX_CONCURRENT_PER_CHANNEL) {
      const notificationId = lane.due.shift();
      if (notificationId === undefined) break;
      const ended = this.#attempt(lane, notificationId).then((isHandled) => {
        lane.inFlight.delete(notificationId);
        this.#fill(lane);
        // Read the outbox again: this channel may have more due messages than were read, and a failure of this channel
        // may have raised an alert that other channels have to send.
        if (isHandled && lane.due.length === 0) this.#sendDueIn(0);
      });
      lane.inFlight.set(notificationId, ended);
    }
  }

  async #attempt(lane: Lane, notificationId: string): Promise<boolean> {
    const { logger } = this.#outbox;
    try {
      const outcome = await this.#outbox.deliver(notificationId, this.#stopper.signal);
      const { state } = outcome;
      if (state === 'pending') {
        const { channel } = lane;
        // A channel that refuses one message refuses its other messages for the same reason, so one log line is enough.
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
      logger.warn(
        { notificationId, code, reason: message },
        'could not deliver a notification, it stays in the ledger',
      );
      // The same fault would stop the other messages of this channel.
      lane.due = [];
      return false;
    }
  }

  #sendDueIn(delayMs: number): void {
    const { clock } = this.#outbox;
    const atMs = clock.monotonic() + Math.max(MIN_OUTBOX_DELAY_MS, delayMs);
    if (this.#stopped || delayMs >= OUTBOX_INTERVAL_MS || atMs >= this.#restEndsMs) return;
    this.#endRest();
    this.#restEndsMs = atMs;
    const wake = (): void => {
      this.#restEndsMs = Number.POSITIVE_INFINITY;
      void this.sendDue();
    };
    this.#endRest = clock.after(atMs - clock.monotonic(), wake, { background: true });
  }
}

interface DaemonEventMap {
  notificationsDue: [];
}

export type DaemonEvents = EventEmitter<DaemonEventMap>;

export function createDaemonEvents(): DaemonEvents {
  return new EventEmitter<DaemonEventMap>();
}
