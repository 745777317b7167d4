import type { Period } from '../../../core/period.ts';

/** The service's figures of one tenant in one period, on the way to the ledger. */
export interface StagedRecord {
  /** Well-formed Unicode, not empty. */
  tenantId: string;
  period: Period;
  /**
   * 64-bit integers. Exactly those beyond `Number.isSafeInteger` are bigints, because the digests depend on the type.
   */
  credits: number | bigint;
  requests: number | bigint;
}

/** The number of records on a page, and the totals of the listing. */
export interface PageCounts {
  records: number;
  totalRecords: number;
  totalPages: number;
}

/** One page of a listing. */
export interface StagedPage extends Omit<PageCounts, 'records'> {
  records: readonly StagedRecord[];
}
