/** Bytes per staged record: its figures, its key and its share of the tables that grow by doubling. */
const BYTES_A_RECORD = 24;
/** Listings up to this many records are staged without waiting: even one per run takes little memory. */
const SMALL_RECORDS = 50_000;
const ROOM_BYTES = 256 * 1024 * 1024;

interface RoomWaiter {
  bytes: number;
  go: () => void;
}

/**
 * Limits the memory that all runs stage together. A long listing waits once, in order, for room for all its announced
 * records, and keeps it until its run ends: a run that has room needs no more, so no run waits for ever. A listing
 * larger than the whole room gets all of it, alone.
 */
export class StagingRoom {
  readonly #capacity: number;
  #free: number;
  readonly #waiting = new Set<RoomWaiter>();

  constructor(capacityBytes = ROOM_BYTES) {
    this.#capacity = capacityBytes;
    this.#free = capacityBytes;
  }

  lease(): StagingLease {
    let taken: Promise<() => void> | null = null;
    let granted = false;
    return {
      take: (staged, announced, signal) => {
        if (granted || staged < SMALL_RECORDS) return undefined;
        taken ??= this.#take(Math.min(this.#capacity, announced * BYTES_A_RECORD), signal);
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
        // Later waiters may have waited for this one only.
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

export interface StagingLease {
  /**
   * Call it before fetching more. For a long listing it returns a promise that resolves when there is room for all of
   * it, and rejects with the signal's reason; undefined when there is nothing to wait for.
   */
  take(stagedRecords: number, announcedRecords: number, signal: AbortSignal): Promise<void> | undefined;
  release(): void;
}
