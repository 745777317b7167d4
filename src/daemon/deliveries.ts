import type { DeliveryOutcome } from '../alerts/outbox/deliver.ts';
import type { WaitingNotification } from '../alerts/outbox/outbox.ts';
import type { Cancel } from '../core/clock.ts';
import { settlesWithin } from '../core/deadline.ts';
import { summarizeError } from '../core/errors.ts';
import { type PeriodicTask, type PeriodicTaskOptions, startPeriodicTask } from '../core/periodic-task.ts';
import { StoppingError } from '../queue/errors.ts';

const SWEEP_INTERVAL_MS = 30_000;
/** Notifications of one channel that are under way at once. */
const SLOTS = 4;
/** Notifications of one channel that one sweep looks at; more are looked at once these have had their turn. */
const MOST_A_SWEEP = 1000;
/** A retry that is due sooner waits so long: many of them are one sweep. */
const SHORTEST_REST_MS = 100;

export interface DeliveriesOptions extends Pick<PeriodicTaskOptions, 'clock' | 'logger'> {
  /** Asks what there is to tell by now, and makes the daily summaries that are due. */
  composeDue(): Promise<unknown>;
  /** What waits in the outbox, at most `limit` of each channel, the longest due first. */
  waiting(limit: number): WaitingNotification[];
  /** Makes one attempt; see `deliverNotification`. */
  deliver(notificationId: string, signal: AbortSignal): Promise<DeliveryOutcome>;
}

/** Until it is looked whether a receiver that has taken something is owed more by now. */
const AFTER_DELIVERY_MS = 1_000;

/** A wait as this process measures it: the clock may be set meanwhile. */
interface Rest extends Pick<WaitingNotification, 'attempts' | 'attemptsBefore'> {
  /** On the clock that nobody sets. */
  endsMs: number;
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
export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #lanes = new Map<string, Lane>();
  #rests = new Map<string, Rest>();
  readonly #stopper = new AbortController();
  readonly #task: PeriodicTask;
  #stopped = false;
  #endRest: Cancel = () => undefined;
  #restEndsMs = Number.POSITIVE_INFINITY;

  /** Starts at once. */
  constructor(options: DeliveriesOptions) {
    const { clock, logger } = options;
    this.#options = options;
    this.#task = startPeriodicTask({
      clock,
      logger,
      intervalMs: SWEEP_INTERVAL_MS,
      atOnce: true,
      failed: 'notifications not looked for, they stay in the outbox',
      work: () => this.#look(),
    });
  }

  /** Looks for what is due and has it sent; resolves when that has begun. Never rejects. */
  sweep(): Promise<void> {
    return this.#task.again();
  }

  /** Begins no more; after `graceMs` what is under way is cut off, uncounted. Resolves when all have ended, or by the deadline. */
  async stop({ graceMs, deadlineMs }: { graceMs: number; deadlineMs: number }): Promise<void> {
    const { clock } = this.#options;
    this.#stopped = true;
    this.#endRest();
    const endGrace = clock.after(graceMs, () => this.#stopper.abort(new StoppingError()));
    await this.#task.stop();
    const underWay = [...this.#lanes.values()].flatMap((lane) => [...lane.underWay.values()]);
    await settlesWithin(Promise.all(underWay), deadlineMs, clock);
    endGrace();
  }

  async #look(): Promise<void> {
    const { clock, logger } = this.#options;
    await this.#options.composeDue().catch((error: unknown) => {
      const { code, message } = summarizeError(error);
      logger.warn({ code, reason: message }, 'what is due to be told was not composed, it stays in the ledger');
    });
    const nowMs = clock.now();
    const waiting = this.#rested(this.#options.waiting(MOST_A_SWEEP), nowMs);
    for (const [channel, own] of Map.groupBy(waiting, (notification) => notification.channel)) {
      const lane = this.#lanes.get(channel) ?? { due: [], underWay: new Map(), more: false };
      this.#lanes.set(channel, lane);
      lane.due = own
        .filter(({ nextAttemptAtMs }) => nextAttemptAtMs <= nowMs)
        .map(({ notificationId }) => notificationId)
        .filter((id) => !lane.underWay.has(id));
      lane.more = own.length === MOST_A_SWEEP && lane.due.length > 0;
      this.#fill(lane);
    }
    const later = waiting.map(({ nextAttemptAtMs }) => nextAttemptAtMs).filter((ms) => ms > nowMs);
    this.#sweepIn(Math.min(...later) - nowMs);
  }

  /**
   * What has been attempted since this process saw it last, by whomever, waits as long as was meant from now on.
   */
  #rested(waiting: WaitingNotification[], nowMs: number): WaitingNotification[] {
    const monotonicMs = this.#options.clock.monotonic();
    const known = this.#rests;
    this.#rests = new Map();
    return waiting.map((row) => {
      const { notificationId, attempts, attemptsBefore } = row;
      const before = known.get(notificationId);
      // A replay changes what counts as before.
      const goesOn = before === undefined || (before.attempts === attempts && before.attemptsBefore === attemptsBefore);
      const waitMs = goesOn ? 0 : row.waitMs;
      const rest = goesOn && before ? before : { attempts, attemptsBefore, endsMs: monotonicMs + waitMs };
      this.#rests.set(notificationId, rest);
      return { ...row, nextAttemptAtMs: Math.max(row.nextAttemptAtMs, nowMs + rest.endsMs - monotonicMs) };
    });
  }

  #fill(lane: Lane): void {
    while (!this.#stopped && lane.underWay.size < SLOTS) {
      const notificationId = lane.due.shift();
      if (notificationId === undefined) break;
      const ended = this.#attempt(lane, notificationId).then(() => {
        lane.underWay.delete(notificationId);
        this.#fill(lane);
      });
      lane.underWay.set(notificationId, ended);
    }
    if (lane.due.length > 0 || !lane.more) return;
    lane.more = false;
    void this.sweep();
  }

  async #attempt(lane: Lane, notificationId: string): Promise<void> {
    const { logger, deliver } = this.#options;
    try {
      const outcome = await deliver(notificationId, this.#stopper.signal);
      if (outcome.state === 'pending') {
        logger.warn({ notificationId, ...outcome }, 'notification not delivered, it will be tried again');
        const endsMs = this.#options.clock.monotonic() + outcome.delayMs;
        const attemptsBefore = this.#rests.get(notificationId)?.attemptsBefore ?? 0;
        this.#rests.set(notificationId, { attempts: outcome.attempt, attemptsBefore, endsMs });
        this.#sweepIn(outcome.delayMs);
      } else if (outcome.state === 'dead') {
        // The other channels are told of it.
        void this.sweep();
      } else {
        const level = outcome.state === 'delivered' ? 'info' : 'debug';
        logger[level]({ notificationId, state: outcome.state }, 'notification handled');
        // There may be more to say to who has heard this.
        if (outcome.state === 'delivered') this.#sweepIn(AFTER_DELIVERY_MS);
      }
    } catch (error) {
      if (this.#stopper.signal.aborted) return;
      const { code, message } = summarizeError(error);
      logger.warn({ notificationId, code, reason: message }, 'notification not handled, it stays in the outbox');
      // What keeps one out keeps the others out, too.
      lane.due = [];
      lane.more = false;
    }
  }

  #sweepIn(delayMs: number): void {
    const { clock } = this.#options;
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
