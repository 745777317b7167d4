import { AppError } from '../../../src/core/errors.ts';
import { periodEndMs, periodStartMs } from '../../../src/core/period.ts';
import type { StagedRecord } from '../../../src/ledger/journal/staging/staged-record.ts';
import type { UsageSource } from '../../../src/sync/sync-deps.ts';

/** A service that has these records, `perPage` on a page, whatever it is asked for; no tenant has more in its history. */
export function listingOf(workspaceId: string, records: readonly StagedRecord[], perPage = 100): UsageSource {
  const items = records.map(itemText);
  const totals = { total_records: items.length, total_pages: Math.ceil(items.length / perPage) };
  return {
    async fetchUsagePage({ page }) {
      const usage = items.slice((page - 1) * perPage, page * perPage).join(',');
      const rest = JSON.stringify({ workspace_id: workspaceId, ...totals }).slice(1);
      return { body: [Buffer.from(`{"message":"","success":true,"data":{"usage":[${usage}],${rest}}`)] };
    },
    async getTenantUsage(tenant) {
      const usage = records.filter(({ tenantId }) => tenantId === tenant);
      if (usage.length === 0) throw new AppError('not_found', 'no such tenant');
      return { usage, total_records: usage.length, total_pages: 1 };
    },
  };
}

function itemText({ tenantId, period, credits, requests }: StagedRecord): string {
  const text = JSON.stringify({
    ...{ tenant_id: tenantId, period },
    ...{ period_start: dateOf(periodStartMs(period)), period_end: dateOf(periodEndMs(period) - 1_000) },
  });
  // As text: JSON knows no integers of 64 bits.
  return `${text.slice(0, -1)},"credits_used":${credits},"request_count":${requests}}`;
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString();
}
