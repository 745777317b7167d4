import { createHash } from 'node:crypto';
import type { WalkFlaws } from './walk-flaws.ts';

const DIGEST = 32;

/** Returns the SHA-256 of a page's body, which identifies the page. */
export function digestOfPage(body: Uint8Array): Buffer {
  return createHash('sha256').update(body).digest();
}

/** Returns the digest of one page. `digests` contains the digests of all pages in page order; `page` counts from 1. */
export function digestAt(digests: Buffer, page: number): Buffer {
  return digests.subarray((page - 1) * DIGEST, page * DIGEST);
}

/** The digest of the body and the number of records of each page of a walk. Page numbers begin with 1. */
export class PageLog {
  #digests = Buffer.alloc(64 * DIGEST);
  /** For each page, the number of its records plus one; 0 for a page that was not read. */
  #records = new Uint32Array(64);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Records that a page was read. Each page number may be recorded only once. */
  note(page: number, records: number, digest: Buffer): void {
    if (page > this.#records.length) this.#grow(page);
    this.#digests.set(digest, (page - 1) * DIGEST);
    this.#records[page - 1] = records + 1;
    this.#size += 1;
  }

  shortPages(lastPage: number): number {
    const full = this.#records[0] as number;
    return this.#pages().filter((index) => index + 1 < lastPage && (this.#records[index] as number) < full).length;
  }

  /** Finds the first page that has fewer records than page 1, without the last page; null if there is none. */
  shortPage(lastPage: number): WalkFlaws['shortPage'] {
    const full = this.#records[0] as number;
    const index = this.#pages().find((each) => each + 1 < lastPage && (this.#records[each] as number) < full);
    if (index === undefined) return null;
    return { page: index + 1, records: (this.#records[index] as number) - 1, fullPage: full - 1 };
  }

  identicalPages(): [number, number] | null {
    const pages = new Map<string, number>();
    for (const index of this.#pages()) {
      const digest = digestAt(this.#digests, index + 1).toString('latin1');
      const earlier = pages.get(digest);
      if (earlier !== undefined) return [earlier, index + 1];
      pages.set(digest, index + 1);
    }
    return null;
  }

  repeatedPages(): number {
    const bodies = new Set(this.#pages().map((index) => digestAt(this.#digests, index + 1).toString('latin1')));
    return this.#size - bodies.size;
  }

  /** Returns the digests of all pages read, in page order. */
  digests(): Buffer {
    return Buffer.concat(this.#pages().map((index) => digestAt(this.#digests, index + 1)));
  }

  #pages(): number[] {
    const indexes: number[] = [];
    for (const [index, records] of this.#records.entries()) if (records > 0) indexes.push(index);
    return indexes;
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
