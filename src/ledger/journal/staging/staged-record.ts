import type { Period } from '../../../core/period.ts';

/** What the service says of one tenant in one period, on its way to the ledger. */
export interface StagedRecord {
  /** Well-formed Unicode, not empty. */
  tenantId: string;
  period: Period;
  /** Integers of 64 bits; those beyond `Number.isSafeInteger`, and no others, are bigints: the digests tell them apart. */
  credits: number | bigint;
  requests: number | bigint;
}

/** How many records a page has, and what it says of the whole listing. */
export interface PageCounts {
  records: number;
  totalRecords: number;
  totalPages: number;
}

/** One page of a listing. */
export interface StagedPage extends Omit<PageCounts, 'records'> {
  records: readonly StagedRecord[];
}

/** A page in columns: the ids of tenants are bytes of UTF-8 in its body, figures are safe integers. */
export interface PlainPage extends PageCounts {
  body: Uint8Array;
  /** Where in the body each id begins and ends. */
  idStarts: Int32Array;
  idEnds: Int32Array;
  periods: readonly Period[];
  credits: Float64Array;
  requests: Float64Array;
}
