import type { StagedPage, StagedRecord } from '../../ledger/journal/staging/staged-record.ts';
import type { UsageItem } from '../../usage-api/answers/check-item.ts';
import type { UsagePage } from '../../usage-api/answers/check-page.ts';

/** A checked page of the service in the ledger's words; its periods' bounds follow from their labels. */
export function toStagedPage({ usage, total_records, total_pages }: UsagePage): StagedPage {
  return { records: usage.map(toStagedRecord), totalRecords: total_records, totalPages: total_pages };
}

function toStagedRecord({ tenant_id, period, credits_used, request_count }: UsageItem): StagedRecord {
  return { tenantId: tenant_id, period, credits: credits_used, requests: request_count };
}
