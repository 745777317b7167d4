import type { Period } from '../../../core/period.ts';
import type { FigureColumns } from './figure-columns.ts';
import { type Bits, KeySet } from './key-set.ts';
import { PageLog } from './page-log.ts';
import type { StagedPage } from './staged-record.ts';

/** A period as it was met on a walk. */
export interface SeenPeriod {
  periodKey: number;
  period: Period;
}

/** The same while its records come in. */
export interface PeriodOnWalk extends SeenPeriod {
  inside: boolean;
  bits: Bits;
  figures: FigureColumns;
}

/** What is known of the walk under way. */
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
