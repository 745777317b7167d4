import type { LedgerDb } from '../../ledger/store/ledger-db.ts';

/** Ids of tenants from one to another; null is no bound. */
export interface TenantRange {
  from: string | null;
  to: string | null;
}

/** Ranges grow up to this many tenants, so that a view with few rows needs few of them. */
const MAX_RANGE_TENANTS = 16_384;

/**
 * Divides the tenants of a workspace, in the order of their ids, into ranges: the first one has `count` tenants, each
 * further one four times as many. Views whose rows SQLite would otherwise compute and sort for the whole month are read
 * range by range: each range starts at the index of tenants.
 */
export function* tenantRanges(
  connection: LedgerDb,
  { workspaceId, from, count }: { workspaceId: string; from: string | null; count: number },
): Generator<TenantRange> {
  const tenantAt = connection
    .prepare(
      `SELECT t.tenant_id FROM workspaces w JOIN tenants t USING (workspace_key)
       WHERE w.workspace_id = ? AND t.tenant_id >= ? ORDER BY t.tenant_id LIMIT 1 OFFSET ?`,
    )
    .pluck();
  let first = from;
  for (let size = count; ; size = Math.min(size * 4, MAX_RANGE_TENANTS)) {
    const next = tenantAt.get(workspaceId, first ?? '', size) as string | undefined;
    yield { from: first, to: next ?? null };
    if (next === undefined) return;
    first = next;
  }
}
