/** A response up to this many bytes needs only a small permit; a page of 100 records has about 20 kB. */
export const SMALL_RESPONSE_BYTES = 64 * 1024;
/** Maximum of responses in flight or waiting to be staged, across all runs. */
const MAX_RESPONSES = 512;
/** Maximum of longer responses at a time. 8 of 4 MiB and 512 short ones together use at most 64 MiB. */
const MAX_LARGE_RESPONSES = 8;

/** A reservation of memory for one response. */
export interface PageLease {
  /** Waits for a large permit, which a long response needs. Resolves at once if the lease has one. */
  grow(): Promise<void>;
  /** Releases the memory. May be called twice. */
  release(): void;
}

/**
 * Limits the memory for the responses of all runs together. A response holds a small permit from its request until it is
 * staged. If it turns out to be long, it waits half received for one of a few large permits. The holder of a large
 * permit waits for nothing else, so there is no deadlock. Permits are granted in the order of the requests.
 */
export class PageMemory {
  readonly #small: Permits;
  readonly #large: Permits;

  constructor(small = MAX_RESPONSES, large = MAX_LARGE_RESPONSES) {
    this.#small = new Permits(small);
    this.#large = new Permits(large);
  }

  /** Returns how many bytes the responses in flight may use if each long one has at most `longestBytes`. */
  reservedBytes(longestBytes: number): number {
    return this.#small.inUse * SMALL_RESPONSE_BYTES + this.#large.inUse * longestBytes;
  }

  /** Waits for a small permit. Rejects with the signal's reason when it aborts. */
  async acquire(signal?: AbortSignal): Promise<PageLease> {
    const release = await this.#small.acquire(signal);
    let isReleased = false;
    let growth: { wait: Promise<void>; stop: AbortController } | null = null;
    let releaseGrown: (() => void) | null = null;
    const startGrowth = (stop: AbortController) => {
      if (isReleased) stop.abort();
      const wait = this.#large.acquire(stop.signal).then((releaseLarge) => {
        releaseGrown = releaseLarge;
      });
      return { wait, stop };
    };
    return {
      grow: () => {
        growth ??= startGrowth(new AbortController());
        return growth.wait;
      },
      release: () => {
        if (isReleased) return;
        isReleased = true;
        growth?.stop.abort();
        releaseGrown?.();
        release();
      },
    };
  }
}

interface PermitWaiter {
  grant: () => void;
}

class Permits {
  readonly #count: number;
  #free: number;
  readonly #waiting = new Set<PermitWaiter>();

  constructor(count: number) {
    this.#count = count;
    this.#free = count;
  }

  get inUse(): number {
    return this.#count - this.#free;
  }

  /** Waits for a permit and returns the function that releases it. */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#wait(signal);
    return () => this.#release();
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const drop = (): void => {
        this.#waiting.delete(waiter);
        reject(signal?.reason);
      };
      const waiter: PermitWaiter = {
        grant: () => {
          signal?.removeEventListener('abort', drop);
          resolve();
        },
      };
      signal?.addEventListener('abort', drop, { once: true });
      this.#waiting.add(waiter);
    });
  }

  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next.grant();
  }
}
