import type Database from 'better-sqlite3';
import type { Period } from '../../core/period.ts';
import type { UsageItem } from '../../usage-api/answers/check-item.ts';
import type { ScannedPage } from '../../usage-api/scan-page.ts';
import type { BillingMonth } from '../../usage-api/scan-record.ts';
import { periodKeyOf } from '../schema/keys.ts';
import { FigureColumns } from './figure-columns.ts';
import type { KeySet } from './key-set.ts';
import { knownTenants } from './known-tenants.ts';
import {
  noteDates,
  type PageTotals,
  type PeriodOnWalk,
  type SeenPeriod,
  StagedWalk,
  stageRecord,
} from './staged-walk.ts';
import type { TenantIndex } from './tenant-index.ts';

type Connection = Database.Database;

/** One page as the service gives it. */
export interface StagedPage extends PageTotals {
  usage: readonly UsageItem[];
}

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
  /** The first 8 bytes of the SHA-256 of each page's body, in page order. */
  pageDigests: Uint8Array;
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
  readonly #tenants: TenantIndex;
  readonly #knownTenants: number;
  /** The number of a tenant that is about to be added. */
  readonly #newTenant = () => this.tenantBase + 1 + this.#tenants.size - this.#knownTenants;
  /** The numbers of one page's tenants. */
  #pageKeys = new Uint32Array(128);
  #walk: StagedWalk | null = null;
  #previousKeys: KeySet | null = null;

  constructor(connection: Connection, workspaceKey: number, window: Window) {
    this.#workspaceKey = workspaceKey;
    this.#window = window;
    this.tenantBase = Number(connection.prepare('SELECT coalesce(max(tenant_key), 0) FROM tenants').pluck().get());
    this.#tenants = knownTenants(connection, workspaceKey);
    this.#knownTenants = this.#tenants.size;
  }

  /** Tenants met for the first time; the number of the one at place i is `tenantBase + 1 + i`. */
  newTenants(): Iterable<string> {
    return this.#tenants.idsFrom(this.#knownTenants);
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

  /** Stages one page. Each page number may come once a walk, in any order, page 1 first. */
  stagePage(page: number, content: StagedPage, body: Uint8Array): void {
    const walk = this.#beginPage(page, content, content.usage.length, body);
    for (const record of content.usage) {
      const period = this.#periodOf(walk, record);
      if (period === null) continue;
      const tenantId = record.tenant_id;
      const tenantKey = this.#tenants.keyOfText(tenantId, this.#newTenant);
      stageRecord(walk, period, tenantKey, record.credits_used, record.request_count);
    }
  }

  /** The same for a page whose records were read as columns; the ids lie in its body. */
  stageColumns(page: number, content: ScannedPage, body: Uint8Array): void {
    const { size, months, idStarts, idEnds, credits, requests } = content;
    const walk = this.#beginPage(page, content, size, body);
    if (this.#pageKeys.length < size) this.#pageKeys = new Uint32Array(size * 2);
    const periods: PeriodOnWalk[] = [];
    // Those that the run asked for move up in the columns, so that tenants of the others stay unknown.
    let count = 0;
    for (let index = 0; index < size; index += 1) {
      const period = this.#periodOf(walk, months[index] as BillingMonth);
      if (period === null) continue;
      periods.push(period);
      idStarts[count] = idStarts[index] as number;
      idEnds[count] = idEnds[index] as number;
      credits[count] = credits[index] as number;
      requests[count] = requests[index] as number;
      count += 1;
    }
    const places = { starts: idStarts, ends: idEnds, count };
    this.#tenants.keysOf(body, places, this.#pageKeys, this.#newTenant);
    for (let index = 0; index < count; index += 1) {
      const tenantKey = this.#pageKeys[index] as number;
      stageRecord(walk, periods[index] as PeriodOnWalk, tenantKey, credits[index] as number, requests[index] as number);
    }
  }

  /** Ends the walk and says what it has shown. */
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
      pageDigests: walk.pages.shortDigests(),
    };
  }

  #currentWalk(): StagedWalk {
    if (this.#walk === null) throw new Error('no walk has begun');
    return this.#walk;
  }

  #beginPage(page: number, totals: PageTotals, records: number, body: Uint8Array): StagedWalk {
    const walk = this.#currentWalk();
    walk.notePage(page, totals, records, body);
    return walk;
  }

  /** The period of a record; null when the run did not ask for it. */
  #periodOf(walk: StagedWalk, month: BillingMonth): PeriodOnWalk | null {
    let period = walk.lastPeriod;
    if (period === null || period.period !== month.period) {
      period = walk.periods.get(month.period) ?? this.#addPeriod(walk, month.period);
      walk.lastPeriod = period;
    }
    if (!period.inside) {
      walk.recordsOutsideWindow += 1;
      return null;
    }
    if (period.rawStart !== month.period_start || period.rawEnd !== month.period_end) noteDates(period, month);
    return period;
  }

  #addPeriod(walk: StagedWalk, period: Period): PeriodOnWalk {
    const { from, to } = this.#window;
    const periodKey = periodKeyOf(this.#workspaceKey, period);
    const added: PeriodOnWalk = {
      periodKey,
      period,
      periodStart: '',
      periodEnd: '',
      rawStart: '',
      rawEnd: '',
      inside: (from === null || period >= from) && (to === null || period <= to),
      bits: walk.keys.period(periodKey),
      figures: new FigureColumns(),
    };
    walk.periods.set(period, added);
    return added;
  }
}
