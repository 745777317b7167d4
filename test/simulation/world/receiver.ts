import type { Channel, ChannelMessage, DeliveryResult } from '../../../src/alerts/channels/channel.ts';
import type { Clock } from '../../../src/core/clock.ts';
import type { Random } from '../../support/random.ts';
import type { SimulatedProcess } from './process.ts';

/** What a receiver can do to a message other than take it. */
export const RECEIVER_FAULTS = ['away', 'slow', 'refuse', 'late', 'broken_answer', 'throttle'] as const;
export type ReceiverFault = (typeof RECEIVER_FAULTS)[number];

/** Something that a receiver got, whatever it answered. */
export interface Received {
  atMs: number;
  channel: string;
  notificationId: string;
  payload: string;
}

/** Somebody's try to hand a message over, whether it arrived or not. */
export interface Attempt {
  notificationId: string;
  payload: string;
  /** When it began, and when its sender knows what came of it or was cut off. */
  atMs: number;
  endsMs: number;
  /** What the receiver has said. */
  outcome: DeliveryResult['outcome'];
  /** The receiver has it, or may have, whatever its sender knows. */
  mayHaveArrived: boolean;
  /** What the receiver has asked to wait for. */
  retryAfterMs: number;
  /** Its sender knows what came of it; one that has died meanwhile never does. */
  isKnown: boolean;
  isCut: boolean;
  /** Its sender did not stand still just before. */
  isPrompt: boolean;
}

/** A channel is given up waiting for after this, as the real ones are. */
const TIMEOUT_MS = 10_000;

/** One who is told. All processes send to the same one. */
export class Receiver {
  readonly name: string;
  readonly inbox: Received[] = [];
  readonly attempts: Attempt[] = [];
  readonly met = new Map<ReceiverFault, number>();
  trouble: { fault: ReceiverFault; probability: number } | null = null;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(name: string, clock: Clock, random: Random) {
    this.name = name;
    this.#clock = clock;
    this.#random = random;
  }

  /** The receiver as one process has it. */
  channelFor(process: SimulatedProcess): Channel {
    return {
      name: this.name,
      type: 'webhook',
      deliver: (message, { signal }) =>
        new Promise((resolve) => {
          const { afterMs, result } = this.#take(message);
          const attempt = this.#noteAttempt(message, afterMs, result, process.goesOn);
          const cutOff = (): void => {
            attempt.endsMs = Math.min(attempt.endsMs, this.#clock.now());
            attempt.isCut = true;
            resolve({ outcome: 'cancelled' });
          };
          signal.addEventListener('abort', cutOff, { once: true });
          const answer = (): void => {
            attempt.isKnown = !attempt.isCut;
            resolve(result);
          };
          this.#clock.after(afterMs, () => process.deliver(answer));
          process.onStep('delivery');
        }),
    };
  }

  #take(message: ChannelMessage): { afterMs: number; result: DeliveryResult } {
    const fault = this.trouble !== null && this.#random.chance(this.trouble.probability) ? this.trouble.fault : null;
    if (fault !== null) this.met.set(fault, (this.met.get(fault) ?? 0) + 1);
    const promptMs = this.#random.between(10, 300);
    const retry = (reason: string, unknown: boolean, retryAfterMs: number | null = null): DeliveryResult => ({
      ...{ outcome: 'retry', reason, retryAfterMs, unknown },
    });
    switch (fault) {
      case 'away':
        return { afterMs: TIMEOUT_MS, result: retry('no connection', false) };
      case 'throttle':
        return { afterMs: promptMs, result: retry('status 429', false, 120_000) };
      case 'refuse':
        return { afterMs: promptMs, result: { outcome: 'rejected', reason: 'status 400' } };
      case 'late':
        this.#note(message);
        return { afterMs: TIMEOUT_MS, result: retry('no answer in time', true) };
      case 'broken_answer':
        this.#note(message);
        return { afterMs: promptMs, result: retry('status 502', true) };
      case 'slow':
        this.#note(message);
        return { afterMs: TIMEOUT_MS - 500, result: { outcome: 'delivered', detail: 'status 200' } };
      case null:
        this.#note(message);
        return { afterMs: promptMs, result: { outcome: 'delivered', detail: 'status 200' } };
    }
  }

  #note({ notificationId, payload }: ChannelMessage): void {
    this.inbox.push({ atMs: this.#clock.now(), channel: this.name, notificationId, payload });
  }

  /**
   * Whether a sender could not know what became of a try, but for those of the message `but`: it died before it knew, another one went
   * on beside it, or it was refused and came again.
   */
  mayBeUnknown(alertId: string, but: string): boolean {
    const about = this.attempts.filter(
      ({ notificationId, payload }) => notificationId !== but && payload.includes(alertId),
    );
    return about.some(
      ({ notificationId, endsMs, outcome, isKnown }, index) =>
        !isKnown ||
        about
          .slice(index + 1)
          .some((other) => other.notificationId === notificationId && (other.atMs < endsMs || outcome === 'rejected')),
    );
  }

  #noteAttempt(
    { notificationId, payload }: ChannelMessage,
    afterMs: number,
    result: DeliveryResult,
    isPrompt: boolean,
  ): Attempt {
    const atMs = this.#clock.now();
    const retryAfterMs = result.outcome === 'retry' ? (result.retryAfterMs ?? 0) : 0;
    const { outcome } = result;
    const mayHaveArrived = outcome === 'delivered' || (outcome === 'retry' && result.unknown);
    const attempt = {
      notificationId,
      payload,
      atMs,
      endsMs: atMs + afterMs,
      outcome,
      mayHaveArrived,
      retryAfterMs,
      isKnown: false,
      isCut: false,
      isPrompt,
    };
    this.attempts.push(attempt);
    return attempt;
  }
}
