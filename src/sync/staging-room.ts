/** What a record takes in staging: its figures, its key and its share of the tables that grow by doubling. */
const BYTES_A_RECORD = 24;
/** A listing of so many records is staged without asking: that much times the runs under way is little. */
const SMALL_RECORDS = 50_000;
const ROOM_BYTES = 256 * 1024 * 1024;

interface RoomWaiter {
  bytes: number;
  go: () => void;
}

/**
 * Bounds what the runs under way have staged together. A listing that turns out long takes room for all that it announced,
 * once, in the order of asking, and keeps it until its run ends: so who has room needs no more, and nobody waits for
 * ever. One that wants more than there is gets all of it, alone.
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
        // Those behind may have waited for this one only.
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
   * To be called before more is fetched. Once the listing is long, it returns what resolves when there is room for all of
   * it, and rejects with the signal's reason; undefined when nothing has to be awaited.
   */
  take(stagedRecords: number, announcedRecords: number, signal: AbortSignal): Promise<void> | undefined;
  release(): void;
}
