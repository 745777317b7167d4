import type { Channel, ChannelMessage, DeliveryResult } from '../../../src/alerts/channels/channel.ts';
import type { Clock } from '../../../src/core/clock.ts';
import type { Random } from '../../support/random.ts';

/** What a receiver can do to a message other than take it. */
export const RECEIVER_FAULTS = ['away', 'slow', 'refuse', 'late', 'broken_answer', 'throttle'] as const;
export type ReceiverFault = (typeof RECEIVER_FAULTS)[number];

/** Something that a receiver got, whatever it answered. */
export interface Received {
  atMs: number;
  channel: string;
  notificationId: string;
  payload: string;
  /** Whether the sender was told so. */
  answered: boolean;
}

/** A channel is given up waiting for after this, as the real ones are. */
const TIMEOUT_MS = 10_000;

/** One who is told. All processes send to the same one. */
export class Receiver {
  readonly name: string;
  /** Whether most of what it is told comes once a day. */
  readonly digest: boolean;
  readonly inbox: Received[] = [];
  readonly met = new Map<ReceiverFault, number>();
  trouble: { fault: ReceiverFault; probability: number } | null = null;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor({ name, digest }: { name: string; digest: boolean }, clock: Clock, random: Random) {
    this.name = name;
    this.digest = digest;
    this.#clock = clock;
    this.#random = random;
  }

  /** The receiver as one process has it; `deliver` says whether, and when, an answer still reaches it. */
  channelFor(deliver: (call: () => void) => void): Channel {
    return {
      name: this.name,
      type: 'webhook',
      deliver: (message, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve({ outcome: 'cancelled' }), { once: true });
          const { afterMs, result } = this.#take(message);
          this.#clock.after(afterMs, () => deliver(() => resolve(result)));
        }),
    };
  }

  #take(message: ChannelMessage): { afterMs: number; result: DeliveryResult } {
    const fault = this.trouble !== null && this.#random.chance(this.trouble.probability) ? this.trouble.fault : null;
    if (fault !== null) this.met.set(fault, (this.met.get(fault) ?? 0) + 1);
    const promptMs = this.#random.between(10, 300);
    const retry = (reason: string, retryAfterMs: number | null = null): DeliveryResult => ({
      outcome: 'retry',
      reason,
      retryAfterMs,
    });
    switch (fault) {
      case 'away':
        return { afterMs: TIMEOUT_MS, result: retry('no connection') };
      case 'throttle':
        return { afterMs: promptMs, result: retry('status 429', 120_000) };
      case 'refuse':
        return { afterMs: promptMs, result: { outcome: 'rejected', reason: 'status 400' } };
      case 'late':
        this.#note(message, false);
        return { afterMs: TIMEOUT_MS, result: retry('no answer in time') };
      case 'broken_answer':
        this.#note(message, false);
        return { afterMs: promptMs, result: retry('status 502') };
      case 'slow':
        this.#note(message, true);
        return { afterMs: TIMEOUT_MS - 500, result: { outcome: 'delivered', detail: 'status 200' } };
      case null:
        this.#note(message, true);
        return { afterMs: promptMs, result: { outcome: 'delivered', detail: 'status 200' } };
    }
  }

  #note({ notificationId, payload }: ChannelMessage, answered: boolean): void {
    this.inbox.push({ atMs: this.#clock.now(), channel: this.name, notificationId, payload, answered });
  }
}
