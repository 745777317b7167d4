/**
 * The estimated memory per staged record, in bytes: its figures, its key, and its share of tables whose size doubles
 * when they are full.
 */
const BYTES_PER_RECORD = 24;
/**
 * A run stages this many records without waiting for memory. They take little memory, even if every run stages as many.
 */
const RECORDS_WITHOUT_WAIT = 50_000;
const STAGING_BYTES = 256 * 1024 * 1024;

interface RoomWaiter {
  bytes: number;
  go: () => void;
}

/**
 * Limits the memory that the staged records of all runs use together. A run with a long listing waits once, in the
 * order of arrival, until there is memory for all announced records, and keeps that memory until it ends. It never
 * waits again, so runs cannot block each other for ever. A listing that needs more than the whole limit is staged while
 * no other long listing is being staged.
 */
export class StagingMemory {
  readonly #capacity: number;
  #free: number;
  readonly #waiting = new Set<RoomWaiter>();

  constructor(capacityBytes = STAGING_BYTES) {
    this.#capacity = capacityBytes;
    this.#free = capacityBytes;
  }

  lease(): StagingLease {
    let taken: Promise<() => void> | null = null;
    let granted = false;
    return {
      take: (staged, announced, signal) => {
        if (granted || staged < RECORDS_WITHOUT_WAIT) return undefined;
        taken ??= this.#take(Math.min(this.#capacity, announced * BYTES_PER_RECORD), signal);
        return taken.then(() => {
          granted = true;
        });
      },
      release: () => {
        const held = taken;
        taken = null;
        held?.then(
          (giveBack) => giveBack(),
          () => undefined,
        );
      },
    };
  }

  async #take(bytes: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#waiting.size === 0 && bytes <= this.#free) this.#free -= bytes;
    else await this.#wait(bytes, signal);
    return () => {
      this.#free += bytes;
      this.#admit();
    };
  }

  #wait(bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const drop = (): void => {
        this.#waiting.delete(waiter);
        reject(signal.reason);
        // A later run in the queue may need less memory than the one that gave up, so it may be admitted now.
        this.#admit();
      };
      const waiter: RoomWaiter = {
        bytes,
        go: () => {
          signal.removeEventListener('abort', drop);
          resolve();
        },
      };
      signal.addEventListener('abort', drop, { once: true });
      this.#waiting.add(waiter);
    });
  }

  #admit(): void {
    for (const waiter of this.#waiting) {
      if (waiter.bytes > this.#free) return;
      this.#waiting.delete(waiter);
      this.#free -= waiter.bytes;
      waiter.go();
    }
  }
}

/** The memory that one run may use for staging. */
export interface StagingLease {
  /**
   * Call this function before fetching another page. It returns undefined if the page can be staged at once. Otherwise
   * it returns a promise that resolves when there is memory for all announced records, and rejects with the signal's
   * reason.
   */
  take(stagedRecords: number, announcedRecords: number, signal: AbortSignal): Promise<void> | undefined;
  release(): void;
}
