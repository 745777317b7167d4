import { isoTime } from '../../core/clock.ts';
import { parseDateTime } from '../../core/date-time.ts';
import type { Period } from '../../core/period.ts';
import type { BillingMonth } from '../../usage-api/scan-record.ts';
import type { FigureColumns } from './figure-columns.ts';
import { type Bits, KeySet } from './key-set.ts';
import { PageLog } from './page-log.ts';

/** What every page says of the whole listing. */
export interface PageTotals {
  total_records: number;
  total_pages: number;
}

/** A period as it was met on a walk. */
export interface SeenPeriod {
  periodKey: number;
  period: Period;
  periodStart: string;
  periodEnd: string;
}

/** The same while its records come in. */
export interface PeriodOnWalk extends SeenPeriod {
  rawStart: string;
  rawEnd: string;
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

  notePage(page: number, totals: PageTotals, records: number, body: Uint8Array): void {
    if (this.pages.size === 0) {
      this.totalRecords = totals.total_records;
      this.totalPages = totals.total_pages;
    } else if (totals.total_records !== this.totalRecords || totals.total_pages !== this.totalPages) {
      this.totalsMoved = true;
    }
    this.pages.note(page, records, body);
    this.records += records;
  }
}

/** Only the first record of a key counts. */
export function stageRecord(
  walk: StagedWalk,
  period: PeriodOnWalk,
  tenantKey: number,
  credits: number | bigint,
  requests: number | bigint,
): void {
  if (!walk.keys.add(period.bits, tenantKey)) return;
  if (credits > walk.largest || credits < -walk.largest) walk.largest = credits < 0 ? -credits : credits;
  if (requests > walk.largest || requests < -walk.largest) walk.largest = requests < 0 ? -requests : requests;
  period.figures.add(tenantKey, credits, requests);
}

/** Takes over the bounds of a period as a record says them. */
export function noteDates(period: PeriodOnWalk, record: BillingMonth): void {
  period.rawStart = record.period_start;
  period.rawEnd = record.period_end;
  period.periodStart = utcText(record.period_start);
  period.periodEnd = utcText(record.period_end);
}

/** A date-time of the service as ISO-8601 UTC; the page's check has seen that it is one. */
function utcText(text: string): string {
  const epochMs = parseDateTime(text);
  if (epochMs === null) throw new Error(`${JSON.stringify(text)} is no date-time`);
  return isoTime(epochMs);
}
