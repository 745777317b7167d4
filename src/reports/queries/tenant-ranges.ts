import type { LedgerDb } from '../../ledger/store/ledger-db.ts';

/**
 * A range of tenant ids from `from` up to, but not including, `to`. Null means that the range has no bound on that
 * side.
 */
export interface TenantRange {
  from: string | null;
  to: string | null;
}

/**
 * The maximum number of tenants in a range. Ranges grow up to this size, so that a view with few rows needs few ranges.
 */
const MAX_RANGE_TENANTS = 16_384;

/**
 * Divides the tenants of a workspace, sorted by id, into ranges. The first range has `count` tenants, and each further
 * range has four times as many as the one before. Some views are read range by range, because SQLite would otherwise
 * compute and sort the rows of the whole month. The index of tenants finds the rows of each range.
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
