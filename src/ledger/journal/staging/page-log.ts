import { createHash } from 'node:crypto';

/** Bytes of a SHA-256. */
const DIGEST = 32;

/** What is remembered of each page of a walk, by page number from 1: digest of the body, and how many records it had. */
export class PageLog {
  #digests = Buffer.alloc(64 * DIGEST);
  /** One more than the records of the page; 0 for a page that has not come. */
  #records = new Uint32Array(64);
  #size = 0;

  /** Pages that have come. */
  get size(): number {
    return this.#size;
  }

  /** Each page number comes once. */
  note(page: number, records: number, body: Uint8Array): void {
    if (page > this.#records.length) this.#grow(page);
    this.#digests.set(createHash('sha256').update(body).digest(), (page - 1) * DIGEST);
    this.#records[page - 1] = records + 1;
    this.#size += 1;
  }

  /** Pages before the last with fewer records than the first. */
  shortPages(lastPage: number): number {
    const full = this.#records[0] as number;
    return this.#pages().filter((index) => index + 1 < lastPage && (this.#records[index] as number) < full).length;
  }

  /** Pages whose body is that of another page. */
  repeatedPages(): number {
    const bodies = new Set(this.#pages().map((index) => this.#digestAt(index).toString('latin1')));
    return this.#size - bodies.size;
  }

  /** SHA-256, hex, over the SHA-256 of each body in page order. */
  contentDigest(): string {
    const hash = createHash('sha256');
    for (const index of this.#pages()) hash.update(this.#digestAt(index));
    return hash.digest('hex');
  }

  /** The positions of the pages that have come. */
  #pages(): number[] {
    const indexes: number[] = [];
    for (const [index, records] of this.#records.entries()) if (records > 0) indexes.push(index);
    return indexes;
  }

  #digestAt(index: number): Buffer {
    return this.#digests.subarray(index * DIGEST, (index + 1) * DIGEST);
  }

  #grow(page: number): void {
    const capacity = Math.max(page, this.#records.length * 2);
    const digests = Buffer.alloc(capacity * DIGEST);
    digests.set(this.#digests);
    this.#digests = digests;
    const records = new Uint32Array(capacity);
    records.set(this.#records);
    this.#records = records;
  }
}
