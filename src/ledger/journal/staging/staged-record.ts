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

/** One page of a listing, with what it says of the whole. */
export interface StagedPage {
  records: readonly StagedRecord[];
  totalRecords: number;
  totalPages: number;
}
