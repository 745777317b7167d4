import { createHash } from 'node:crypto';
import type { Period } from '../../../core/period.ts';
import type { FigureColumns } from './figure-columns.ts';
import { type Bits, KeySet } from './key-set.ts';
import type { StagedPage } from './staged-record.ts';

export interface SeenPeriod {
  periodKey: number;
  period: Period;
}

export interface PeriodOnWalk extends SeenPeriod {
  inside: boolean;
  bits: Bits;
  figures: FigureColumns;
}

export class StagedWalk {
  readonly keys = new KeySet();
  readonly periods = new Map<Period, PeriodOnWalk>();
  readonly pages = new PageLog();
  records = 0;
  recordsOutsideWindow = 0;
  totalRecords = 0;
  totalPages = 0;
  totalsMoved = false;
  lastPeriod: PeriodOnWalk | null = null;
  /** The largest credits or requests by size. */
  largest: number | bigint = 0;

  notePage(page: number, { records, totalRecords, totalPages }: StagedPage, body: Uint8Array): void {
    if (this.pages.size === 0) {
      this.totalRecords = totalRecords;
      this.totalPages = totalPages;
    } else if (totalRecords !== this.totalRecords || totalPages !== this.totalPages) {
      this.totalsMoved = true;
    }
    this.pages.note(page, records.length, body);
    this.records += records.length;
  }

  /** Only the first record of a key counts. */
  noteRecord(
    period: PeriodOnWalk,
    tenantKey: number,
    { credits, requests }: { credits: number | bigint; requests: number | bigint },
  ): void {
    if (!this.keys.add(period.bits, tenantKey)) return;
    if (credits > this.largest || credits < -this.largest) this.largest = credits < 0 ? -credits : credits;
    if (requests > this.largest || requests < -this.largest) this.largest = requests < 0 ? -requests : requests;
    period.figures.add(tenantKey, credits, requests);
  }
}

const DIGEST = 32;

/** What is remembered of each page of a walk, by page number from 1: digest of the body, and how many records it had. */
export class PageLog {
  #digests = Buffer.alloc(64 * DIGEST);
  /** One more than the records of the page; 0 for a page that has not come. */
  #records = new Uint32Array(64);
  #size = 0;

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

  shortPages(lastPage: number): number {
    const full = this.#records[0] as number;
    return this.#pages().filter((index) => index + 1 < lastPage && (this.#records[index] as number) < full).length;
  }

  repeatedPages(): number {
    const bodies = new Set(this.#pages().map((index) => this.#digestAt(index).toString('latin1')));
    return this.#size - bodies.size;
  }

  contentDigest(): string {
    const hash = createHash('sha256');
    for (const index of this.#pages()) hash.update(this.#digestAt(index));
    return hash.digest('hex');
  }

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
