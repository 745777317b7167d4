import type { Period } from '../../../core/period.ts';

/** The service's figures of one tenant in one period, before they are merged into the ledger. */
export interface StagedRecord {
  /** The tenant's id: well-formed Unicode, not empty. */
  tenantId: string;
  period: Period;
  /**
   * 64-bit integers. Values that are safe integers are numbers, and all others are bigints, because digests depend on
   * the type.
   */
  credits: number | bigint;
  requests: number | bigint;
}

/** The number of records on a page, and the listing's totals as stated on that page. */
export interface PageCounts {
  records: number;
  totalRecords: number;
  totalPages: number;
}

/** One page of a listing. */
export interface StagedPage extends Omit<PageCounts, 'records'> {
  records: readonly StagedRecord[];
}
