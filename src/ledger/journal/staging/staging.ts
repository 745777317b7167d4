import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import type { Period } from '../../../core/period.ts';
import { periodKeyOf } from '../../store/schema/keys.ts';
import { tenants } from '../../store/schema/workspace-tables.ts';
import { highest } from '../../store/subjects.ts';
import { FigureColumns } from './figure-columns.ts';
import { type Bits, KeySet } from './key-set.ts';
import type { StagedPage } from './staged-record.ts';

type Connection = Database.Database;

/** The periods that a run asks for, both ends included; null is no limit. */
export interface Window {
  from: Period | null;
  to: Period | null;
}

/** What one complete pass over the pages has shown. Facts only: src/sync/prove.ts judges them. */
export interface WalkFacts {
  pages: number;
  records: number;
  distinctKeys: number;
  /** As page 1 said. */
  totalRecords: number;
  totalPages: number;
  /** A later page said other totals than page 1. */
  totalsMoved: boolean;
  recordsOutsideWindow: number;
  /** Pages before the last with fewer records than the first page. */
  shortPages: number;
  /** Pages whose body is that of another page. */
  repeatedPages: number;
  /** Whether the walk before this one in the run had the same keys; null for the first. */
  sameKeysAsPrevious: boolean | null;
  keySetDigest: string;
  /** SHA-256, hex, over the SHA-256 of each page's body in page order. */
  contentDigest: string;
}

/** Far enough below 2^63 that floating point cannot hide an overflow. */
const SAFE_SUM = 2 ** 62;

/**
 * The records of one run on their way to the ledger: columns of numbers for each period, filled a page at a time, beside
 * one bit for each key seen. Mostly 12 bytes a record, so a listing of three million takes 36 MB.
 *
 * Tenants that the ledger does not know get numbers above `tenantBase`; they become real when the run is applied.
 */
export class RunStaging {
  readonly tenantBase: number;
  readonly #workspaceKey: number;
  readonly #window: Window;
  #tenants: Map<string, number>;
  #newTenants: string[] | null = [];
  #walk: StagedWalk | null = null;
  #previousKeys: KeySet | null = null;

  constructor(connection: Connection, workspaceKey: number, window: Window) {
    this.#workspaceKey = workspaceKey;
    this.#window = window;
    this.tenantBase = highest(connection, tenants.tenantKey);
    this.#tenants = knownTenants(connection, workspaceKey);
  }

  /**
   * Ends the walks and gives the tenants met for the first time; the number of the one at place i is `tenantBase + 1 + i`.
   * Ids are forgotten here: of a million tenants they take as much memory as the merge that follows.
   */
  takeNewTenants(): readonly string[] {
    const taken = this.#newTenants;
    if (taken === null) throw new Error('the walks have ended');
    this.#newTenants = null;
    this.#tenants = new Map();
    return taken;
  }

  get keys(): KeySet {
    return this.#currentWalk().keys;
  }

  /** Whether the figures of the walk are so large that their sums might not fit into 64 bits. */
  get sumsMayOverflow(): boolean {
    const { largest, keys } = this.#currentWalk();
    return Number(largest) * (keys.size + 1) > SAFE_SUM;
  }

  get periods(): SeenPeriod[] {
    return [...this.#currentWalk().periods.values()].filter((period) => period.inside);
  }

  /** The figures of a period that was met inside the window. */
  figuresOf(periodKey: number): FigureColumns {
    const found = [...this.#currentWalk().periods.values()].find((period) => period.periodKey === periodKey);
    if (found === undefined) throw new Error(`period ${periodKey} was not met`);
    return found.figures;
  }

  /** Forgets the records of the walk before, but keeps its key set for comparison. */
  beginWalk(): void {
    this.#previousKeys = this.#walk?.keys ?? null;
    this.#walk = new StagedWalk();
  }

  /** Stages one page and returns how many new keys it has. Each page number may come once a walk, page 1 first. */
  stagePage(page: number, content: StagedPage, body: Uint8Array): number {
    const walk = this.#currentWalk();
    const keysBefore = walk.keys.size;
    walk.notePage(page, content, body);
    for (const record of content.records) {
      const period = this.#periodOf(walk, record.period);
      if (period.inside) walk.noteRecord(period, this.#tenantKeyOf(record.tenantId), record);
      else walk.recordsOutsideWindow += 1;
    }
    return walk.keys.size - keysBefore;
  }

  finishWalk(): WalkFacts {
    const walk = this.#currentWalk();
    return {
      pages: walk.pages.size,
      records: walk.records,
      distinctKeys: walk.keys.size,
      totalRecords: walk.totalRecords,
      totalPages: walk.totalPages,
      totalsMoved: walk.totalsMoved,
      recordsOutsideWindow: walk.recordsOutsideWindow,
      shortPages: walk.pages.shortPages(walk.totalPages),
      repeatedPages: walk.pages.repeatedPages(),
      sameKeysAsPrevious: this.#previousKeys === null ? null : walk.keys.equals(this.#previousKeys),
      keySetDigest: walk.keys.digest(),
      contentDigest: walk.pages.contentDigest(),
    };
  }

  #currentWalk(): StagedWalk {
    if (this.#walk === null) throw new Error('no walk has begun');
    return this.#walk;
  }

  #tenantKeyOf(tenantId: string): number {
    const known = this.#tenants.get(tenantId);
    if (known !== undefined) return known;
    if (this.#newTenants === null) throw new Error('the walks have ended');
    const tenantKey = this.tenantBase + this.#newTenants.push(tenantId);
    this.#tenants.set(tenantId, tenantKey);
    return tenantKey;
  }

  #periodOf(walk: StagedWalk, period: Period): PeriodOnWalk {
    if (walk.lastPeriod?.period === period) return walk.lastPeriod;
    const met = walk.periods.get(period) ?? this.#addPeriod(walk, period);
    walk.lastPeriod = met;
    return met;
  }

  #addPeriod(walk: StagedWalk, period: Period): PeriodOnWalk {
    const { from, to } = this.#window;
    const periodKey = periodKeyOf(this.#workspaceKey, period);
    const added: PeriodOnWalk = {
      periodKey,
      period,
      inside: (from === null || period >= from) && (to === null || period <= to),
      bits: walk.keys.period(periodKey),
      figures: new FigureColumns(),
    };
    walk.periods.set(period, added);
    return added;
  }
}

/** Tenants that SQLite joins into one row: reading each as a row of its own would take three times as long. */
const TENANTS_A_ROW = 4096;

export function knownTenants(connection: Database.Database, workspaceKey: number): Map<string, number> {
  const numbers = new Map<string, number>();
  const next = connection
    .prepare(
      `SELECT json_group_array(tenant_id), json_group_array(tenant_key), max(tenant_id)
       FROM (SELECT tenant_id, tenant_key FROM tenants WHERE workspace_key = ? AND tenant_id > ?
         ORDER BY tenant_id LIMIT ${TENANTS_A_ROW})`,
    )
    .raw();
  for (let after: string | null = ''; after !== null; ) {
    const [ids, tenantKeys, last] = next.get(workspaceKey, after) as [string, string, string | null];
    const tenantKeyAt = JSON.parse(tenantKeys) as number[];
    for (const [at, id] of (JSON.parse(ids) as string[]).entries()) numbers.set(id, tenantKeyAt[at] as number);
    after = last;
  }
  return numbers;
}

interface SeenPeriod {
  periodKey: number;
  period: Period;
}

interface PeriodOnWalk extends SeenPeriod {
  inside: boolean;
  bits: Bits;
  figures: FigureColumns;
}

class StagedWalk {
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
