import { type Cancel, type Clock, systemClock } from '../core/clock.ts';

/** Waits until the next request may be sent. If the signal aborts, the promise is rejected with the signal's reason. */
export type Pacer = (signal: AbortSignal) => Promise<void>;

/**
 * The shortest wait, in milliseconds, for which a timer is set. Timers are not more precise, so a request that is due
 * in less time is sent at once, and the next ones wait longer.
 */
const SHORTEST_SLEEP_MS = 2;
/** After a pause, as many requests may be sent at once as the rate allows in this many milliseconds. */
const BURST_MS = 100;

interface PacerWaiter {
  signal: AbortSignal;
  go: () => void;
  giveUp: (reason: unknown) => void;
}

/**
 * Spaces the requests to one host evenly: at most `perSecond` requests for all workspaces together. Waiting workspaces
 * take turns, so a workspace with ten thousand pages does not delay a workspace with three pages.
 */
export class HostPacer {
  readonly #intervalMs: number;
  readonly #clock: Clock;
  /** The waiting requests of each workspace. The workspace whose turn is next is first in the map. */
  readonly #waiting = new Map<string, PacerWaiter[]>();
  #nextMs = 0;
  #timer: Cancel | null = null;

  constructor(perSecond: number, clock: Clock = systemClock) {
    this.#intervalMs = 1000 / perSecond;
    this.#clock = clock;
  }

  lane(workspaceId: string): Pacer {
    return (signal) => this.#turn(workspaceId, signal);
  }

  async #turn(lane: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#waiting.size === 0 && this.#isDue()) {
      this.#use();
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const drop = (): void => waiter.giveUp(signal.reason);
      const waiter: PacerWaiter = {
        signal,
        go: () => {
          signal.removeEventListener('abort', drop);
          resolve();
        },
        giveUp: (reason) => {
          signal.removeEventListener('abort', drop);
          reject(reason);
        },
      };
      signal.addEventListener('abort', drop, { once: true });
      const queue = this.#waiting.get(lane);
      if (queue === undefined) this.#waiting.set(lane, [waiter]);
      else queue.push(waiter);
      this.#wake();
    });
  }

  #isDue(): boolean {
    const nowMs = this.#clock.monotonic();
    this.#nextMs = Math.max(this.#nextMs, nowMs - BURST_MS);
    return this.#nextMs - nowMs < SHORTEST_SLEEP_MS;
  }

  #use(): void {
    this.#nextMs += this.#intervalMs;
  }

  #wake(): void {
    if (this.#timer !== null || this.#waiting.size === 0) return;
    const waitMs = Math.max(1, this.#nextMs - this.#clock.monotonic());
    this.#timer = this.#clock.after(waitMs, () => {
      this.#timer = null;
      while (this.#waiting.size > 0 && this.#isDue()) if (this.#admit()) this.#use();
      this.#wake();
    });
  }

  /**
   * Lets one request of the next workspace proceed. Returns false if no request is waiting or if that request was
   * cancelled.
   */
  #admit(): boolean {
    const [entry] = this.#waiting;
    if (entry === undefined) return false;
    const [lane, queue] = entry;
    const waiter = queue.shift();
    // Moves the workspace to the end, so that every other waiting workspace gets a turn first.
    this.#waiting.delete(lane);
    if (queue.length > 0) this.#waiting.set(lane, queue);
    if (waiter === undefined || waiter.signal.aborted) return false;
    waiter.go();
    return true;
  }
}

/** Returns a pacer that keeps to the rates of both given pacers. */
export function bothPacers(first: Pacer, second: Pacer): Pacer {
  return async (signal) => {
    await first(signal);
    await second(signal);
  };
}
