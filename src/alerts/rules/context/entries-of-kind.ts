import type { MergedRun } from '../../../ledger/journal/runs/apply-run.ts';
import { ENTRY_KINDS } from '../../../ledger/store/schema/keys.ts';
import type { UsageFigures } from '../../figures/usage-figures.ts';
import type { Candidate } from '../rule.ts';

/** Returns the tenants and periods of a run's entries of one kind, with the figures before each entry. */
export function entriesOfKind(
  merged: MergedRun,
  kind: 'decreased' | 'withdrawn',
): (Candidate & { before: UsageFigures })[] {
  // Without such an entry, skip reading all entries of the run.
  if (merged.counts[kind] === 0) return [];
  const rows = merged.connection
    .prepare(
      `SELECT period_key, tenant_key, credits_after - credits_delta, requests_after - requests_delta
       FROM usage_entries WHERE entry_id > ? AND kind = ?`,
    )
    .safeIntegers()
    .raw()
    .all(merged.lastEntryIdBefore, ENTRY_KINDS[kind]) as [bigint, bigint, bigint, bigint][];
  return rows.map(([periodKey, tenantKey, credits, requests]) => ({
    periodKey: Number(periodKey),
    tenantKey: Number(tenantKey),
    before: { credits, requests },
  }));
}
