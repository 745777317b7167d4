import { createHash } from 'node:crypto';
import type { Period } from '../../../core/period.ts';
import { FigureColumns } from '../../../speed/figure-columns.ts';
import type { ScannedPage } from '../../../speed/scan-page.ts';
import { TenantNumbering } from '../../../speed/tenant-numbers.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { periodKeyOf } from '../../store/schema/keys.ts';
import { tenants } from '../../store/schema/workspace-tables.ts';
import { highest } from '../../store/subjects.ts';
import { type BitSet, KeySet } from './key-set.ts';
import { digestAt, PageLog } from './page-log.ts';
import type { PageCounts, StagedPage } from './staged-record.ts';
import { RepeatedRecordFinder, recordsOf, type WalkFlaws } from './walk-flaws.ts';

/**
 * The periods that a run asks for, including `from` and `to`. If one of them is null, there is no limit on that side.
 */
export interface RunWindow {
  from: Period | null;
  to: Period | null;
}

/**
 * The facts about one complete reading of all pages (a walk). src/sync/judge-walk.ts decides whether the walk is
 * accepted.
 */
export interface WalkFacts {
  pages: number;
  records: number;
  distinctKeys: number;
  /** The totals of the listing as page 1 states them. */
  totalRecords: number;
  totalPages: number;
  /** True when a later page stated other totals than page 1. */
  totalsMoved: boolean;
  recordsOutsideWindow: number;
  /** Number of pages that have fewer records than the first page. The last page is not counted. */
  shortPages: number;
  /** Number of pages that repeat the body of another page. */
  repeatedPages: number;
  /** True when the previous walk of the same run had the same keys; null for the first walk. */
  sameKeysAsPrevious: boolean | null;
  keySetDigest: string;
  /** SHA-256, hex, over the SHA-256 of each page's body in page order. */
  contentDigest: string;
  /** True when every page equals the same page of the last verified listing, so that nothing was staged. */
  unchanged: boolean;
}

/** The last applied listing: the SHA-256 of each page's body in page order, and the facts of its walk. */
export interface KnownListing {
  pageDigests: Buffer;
  facts: WalkFacts;
}

/** A limit for sums estimated in floating point, far enough below 2^63 that rounding cannot hide an overflow. */
const SAFE_SUM = 2 ** 62;

/**
 * The records of one run before they are merged into the ledger: columns of numbers for each period, filled page by page,
 * and one bit for each key. A record mostly takes 12 bytes, so a listing of three million takes 36 MB. New tenants get
 * numbers above `tenantBase`, which become final when the run is applied.
 *
 * Pages of a known listing are skipped as long as every page equals the known one. At the first changed page, the skipped
 * pages must be read again.
 */
export class RunStaging {
  readonly #connection: LedgerDb;
  readonly #workspaceKey: number;
  readonly #window: RunWindow;
  readonly #known: KnownListing | null;
  #numbers: TenantNumbering | null = null;
  #walk: StagedWalk | null = null;
  #previousKeys: KeySet | null = null;

  constructor(connection: LedgerDb, workspaceKey: number, window: RunWindow, known: KnownListing | null = null) {
    this.#connection = connection;
    this.#workspaceKey = workspaceKey;
    this.#window = window;
    this.#known = known;
  }

  get tenantBase(): number {
    return this.#numbered().base;
  }

  /**
   * Ends the walks and returns the ids of the new tenants, whose numbers begin with `tenantBase + 1`. Releases these
   * ids, because the ids of a million tenants take as much memory as the merge that follows.
   */
  takeNewTenants(): Iterable<string> {
    return this.#numbered().takeNew();
  }

  get keys(): KeySet {
    return this.#currentWalk().keys;
  }

  /** True when the walk's figures are so large that their sums might exceed 64 bits. */
  get sumsMayOverflow(): boolean {
    const { largest, keys } = this.#currentWalk();
    return Number(largest) * (keys.size + 1) > SAFE_SUM;
  }

  get periods(): SeenPeriod[] {
    return [...this.#currentWalk().periods.values()].filter((period) => period.inside);
  }

  /** Returns the figures that the walk read for a period inside the window. */
  figuresOf(periodKey: number): FigureColumns {
    const found = [...this.#currentWalk().periods.values()].find((period) => period.periodKey === periodKey);
    if (found === undefined) throw new Error(`no staged record is of period ${periodKey}`);
    return found.figures;
  }

  /** Discards the records of the previous walk. Its key set is kept for comparison. */
  beginWalk(): void {
    this.#previousKeys = this.#walk?.keys ?? null;
    const suspects = this.#walk?.repeats.keys ?? [];
    this.#walk = new StagedWalk(
      this.#known !== null,
      suspects.map(({ period, tenantKey }) => ({ period, tenantId: this.#numbered().idOf(tenantKey) })),
    );
  }

  /**
   * Skips a page that equals the page with the same number in the known listing. Returns false if this page, or an
   * earlier page of the walk, is different.
   */
  skip(page: number, digest: Buffer): boolean {
    const walk = this.#currentWalk();
    walk.isUnchanged &&= this.#known !== null && digestAt(this.#known.pageDigests, page).equals(digest);
    if (walk.isUnchanged) walk.skipped += 1;
    return walk.isUnchanged;
  }

  /** Stages one page and returns the number of new keys. Each page number may occur once per walk. */
  stagePage(page: number, content: StagedPage, digest: Buffer): number {
    const walk = this.#currentWalk();
    const keysBefore = walk.keys.size;
    walk.notePage(page, { ...content, records: content.records.length }, digest);
    const numbers = this.#numbered();
    for (const { tenantId, period: month, credits, requests } of content.records) {
      const period = this.#periodOf(walk, month);
      if (period.inside) walk.noteRecord(period, numbers.numberOf(tenantId), credits, requests);
      else walk.noteOutside(month);
    }
    if (walk.repeats.hasSuspects) walk.repeats.lookIn(page, content.records);
    return walk.keys.size - keysBefore;
  }

  /** Stages a scanned page, like `stagePage`. */
  stageScanned(page: number, content: ScannedPage, digest: Buffer): number {
    const walk = this.#currentWalk();
    const keysBefore = walk.keys.size;
    walk.notePage(page, content, digest);
    const numbers = this.#numbered();
    const { records, body, idStarts, idEnds, periods, credits, requests } = content;
    for (let at = 0; at < records; at += 1) {
      const period = this.#periodOf(walk, periods[at] as Period);
      if (period.inside) {
        const tenantKey = numbers.numberAt(body, idStarts[at] as number, idEnds[at] as number);
        walk.noteRecord(period, tenantKey, credits[at] as number, requests[at] as number);
      } else walk.noteOutside(period.period);
    }
    if (walk.repeats.hasSuspects) walk.repeats.lookIn(page, recordsOf(content));
    return walk.keys.size - keysBefore;
  }

  finishWalk(): WalkFacts {
    const walk = this.#currentWalk();
    if (walk.isUnchanged && walk.skipped === this.#known?.facts.pages) return this.#known.facts;
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
      contentDigest: createHash('sha256').update(walk.pages.digests()).digest('hex'),
      unchanged: false,
    };
  }

  /** Returns details of the signs that the listing changed during the walk. */
  flaws(): WalkFlaws {
    const { repeats, changedTotals, outside, pages, totalPages } = this.#currentWalk();
    return {
      repeated: repeats.list((tenantKey) => this.#numbered().idOf(tenantKey)),
      changedTotals,
      outside,
      identicalPages: pages.identicalPages(),
      shortPage: pages.shortPage(totalPages),
    };
  }

  /** The SHA-256 of each page's body, in page order. */
  get pageDigests(): Buffer {
    return this.#currentWalk().pages.digests();
  }

  #currentWalk(): StagedWalk {
    if (this.#walk === null) throw new Error('no walk has begun');
    return this.#walk;
  }

  /** The known tenants are read only when the first page is staged, because an unchanged listing needs none of them. */
  #numbered(): TenantNumbering {
    this.#numbers ??= knownTenants(this.#connection, this.#workspaceKey);
    return this.#numbers;
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

/**
 * Number of tenants that SQLite returns in one row, as JSON arrays. A row for each tenant takes three times as long.
 */
const TENANTS_PER_ROW = 4096;

export function knownTenants(connection: LedgerDb, workspaceKey: number): TenantNumbering {
  const numbers = new TenantNumbering(highest(connection, tenants.tenantKey));
  const next = connection
    .prepare(
      `SELECT json_group_array(tenant_id), json_group_array(tenant_key), max(tenant_id)
       FROM (SELECT tenant_id, tenant_key FROM tenants WHERE workspace_key = ? AND tenant_id > ?
         ORDER BY tenant_id LIMIT ${TENANTS_PER_ROW})`,
    )
    .raw();
  for (let after: string | null = ''; after !== null; ) {
    const [ids, tenantKeys, last] = next.get(workspaceKey, after) as [string, string, string | null];
    const tenantKeyAt = JSON.parse(tenantKeys) as number[];
    for (const [at, id] of (JSON.parse(ids) as string[]).entries()) numbers.addKnown(id, tenantKeyAt[at] as number);
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
  bits: BitSet;
  figures: FigureColumns;
}

class StagedWalk {
  /** True as long as every page that was read equals the same page of the known listing. */
  isUnchanged: boolean;
  /** Number of skipped pages. */
  skipped = 0;
  readonly keys = new KeySet();
  readonly periods = new Map<Period, PeriodOnWalk>();
  readonly pages = new PageLog();
  records = 0;
  recordsOutsideWindow = 0;
  totalRecords = 0;
  totalPages = 0;
  totalsMoved = false;
  lastPeriod: PeriodOnWalk | null = null;
  /** The figure (credits or requests) of the walk with the largest absolute value. */
  largest: number | bigint = 0;
  readonly repeats: RepeatedRecordFinder;
  changedTotals: WalkFlaws['changedTotals'] = null;
  outside: WalkFlaws['outside'] = null;
  #page = 0;
  #firstPage = 0;

  constructor(isUnchanged: boolean, suspects: ConstructorParameters<typeof RepeatedRecordFinder>[0]) {
    this.isUnchanged = isUnchanged;
    this.repeats = new RepeatedRecordFinder(suspects);
  }

  notePage(page: number, { records, totalRecords, totalPages }: PageCounts, digest: Buffer): void {
    this.#page = page;
    if (this.pages.size === 0) {
      this.#firstPage = page;
      this.totalRecords = totalRecords;
      this.totalPages = totalPages;
    } else if (totalRecords !== this.totalRecords || totalPages !== this.totalPages) {
      this.totalsMoved = true;
      this.changedTotals ??= { page, totalRecords, totalPages, firstPage: this.#firstPage };
    }
    this.pages.note(page, records, digest);
    this.records += records;
  }

  /** Stages a record. A second record with the same key is not staged; it is only noted as a repeat. */
  noteRecord(period: PeriodOnWalk, tenantKey: number, credits: number | bigint, requests: number | bigint): void {
    if (!this.keys.add(period.bits, tenantKey)) {
      this.repeats.note(period.period, tenantKey, this.#page);
      return;
    }
    if (credits > this.largest || credits < -this.largest) this.largest = credits < 0 ? -credits : credits;
    if (requests > this.largest || requests < -this.largest) this.largest = requests < 0 ? -requests : requests;
    period.figures.add(tenantKey, credits, requests);
  }

  noteOutside(period: Period): void {
    this.recordsOutsideWindow += 1;
    this.outside ??= { period, page: this.#page };
  }
}
