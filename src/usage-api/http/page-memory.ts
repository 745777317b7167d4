/** What each answer may hold without asking: a page of 100 records has some 20 kB. */
export const SMALL_BYTES = 64 * 1024;
/** Answers under way or waiting to be staged, over all runs. */
const PLACES = 512;
/** Of those, so many may be longer than `SMALL_BYTES` at a time; with pages of 4 MiB that makes 64 MiB in all. */
const LARGE_PLACES = 8;

export interface PageLease {
  /** Waits until the answer may be as long as any; at once when it may already. */
  grow(): Promise<void>;
  /** Gives the room back. May be called twice. */
  release(): void;
}

/**
 * Bounds the memory that answers take over all runs: each has a place from its request until it is staged, and one that
 * turns out long waits, half received, for one of a few large places. Who has a large place needs nothing more to end, so
 * nobody waits for ever. Places are given in the order in which they were asked for.
 */
export class PageMemory {
  readonly #places: Places;
  readonly #large: Places;

  constructor(places = PLACES, largePlaces = LARGE_PLACES) {
    this.#places = new Places(places);
    this.#large = new Places(largePlaces);
  }

  /** What the answers under way may take, in bytes, when a long one has up to `longestBytes`. */
  reservedBytes(longestBytes: number): number {
    return this.#places.taken * SMALL_BYTES + this.#large.taken * longestBytes;
  }

  /** Waits for a place. Rejects with the signal's reason when it aborts. */
  async take(signal?: AbortSignal): Promise<PageLease> {
    const release = await this.#places.take(signal);
    let isGiven = false;
    let growing: { wait: Promise<void>; stop: AbortController } | null = null;
    let shrink: (() => void) | null = null;
    const growIn = (stop: AbortController) => {
      if (isGiven) stop.abort();
      const wait = this.#large.take(stop.signal).then((back) => {
        shrink = back;
      });
      return { wait, stop };
    };
    return {
      grow: () => {
        growing ??= growIn(new AbortController());
        return growing.wait;
      },
      release: () => {
        if (isGiven) return;
        isGiven = true;
        growing?.stop.abort();
        shrink?.();
        release();
      },
    };
  }
}

interface Waiter {
  go: () => void;
}

class Places {
  readonly #count: number;
  #free: number;
  readonly #waiting = new Set<Waiter>();

  constructor(count: number) {
    this.#count = count;
    this.#free = count;
  }

  get taken(): number {
    return this.#count - this.#free;
  }

  /** Resolves with what gives the place back. */
  async take(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    return () => this.#giveBack();
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const drop = (): void => {
        this.#waiting.delete(waiter);
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        go: () => {
          signal?.removeEventListener('abort', drop);
          resolve();
        },
      };
      signal?.addEventListener('abort', drop, { once: true });
      this.#waiting.add(waiter);
    });
  }

  #giveBack(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next.go();
  }
}
