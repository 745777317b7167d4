/** Bytes of a slot: a page of 100 records has some 20 kB. */
const SLOT_BYTES = 64 * 1024;
/** Pages under way to the writer, of all runs at once; memory that no page has been in is never taken. */
const SLOTS = 128;

/** Where a page lies in the memory of the slots. */
export interface PagePlace {
  offset: number;
  /** Bytes. */
  length: number;
}

/**
 * Memory that the thread which fetches shares with the one which writes: a page is copied into a slot, read there, and
 * the slot taken again. Memory of its own for each page, moved between threads, costs more to come by and to tidy up
 * than reading the page does.
 */
export class PageSlots {
  readonly memory = new SharedArrayBuffer(SLOTS * SLOT_BYTES);
  /** The slot used last is taken first, while it is still near the processor. */
  readonly #free = Array.from({ length: SLOTS }, (_, index) => index * SLOT_BYTES);

  /** Copies a page into a free slot; null when none is free or the page is longer than one. */
  put(pieces: readonly Uint8Array[]): PagePlace | null {
    const length = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
    const offset = length > SLOT_BYTES ? undefined : this.#free.pop();
    if (offset === undefined) return null;
    const slot = new Uint8Array(this.memory, offset, length);
    let at = 0;
    for (const piece of pieces) {
      slot.set(piece, at);
      at += piece.byteLength;
    }
    return { offset, length };
  }

  /** Gives a slot back once its page has been read. */
  release({ offset }: PagePlace): void {
    this.#free.push(offset);
  }
}
