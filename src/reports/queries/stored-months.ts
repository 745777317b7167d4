import type { Period, PeriodWindow } from '../../core/period.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { whereClause } from '../../ledger/store/where.ts';

export interface MonthFilters {
  workspaceId?: string | undefined;
  period?: Period | PeriodWindow | undefined;
  /** Start with this month of this workspace; null: with the first one. */
  from: { workspaceId: string; period: Period } | null;
  /** SQL about `periods` that selects the months to go through; all unless given. */
  only?: string | undefined;
}

/**
 * Returns the months of each workspace that the ledger has, in order. A listing that is read in pages goes through them one
 * by one: each month of a workspace has an index, all months together have none.
 */
export function storedMonths(
  connection: LedgerDb,
  { workspaceId, period, from, only = '1' }: MonthFilters,
): { workspace_id: string; period: Period }[] {
  const { where, values } = whereClause({ workspace_id: workspaceId, period });
  return connection
    .prepare(
      `SELECT workspace_id, period FROM workspaces JOIN periods USING (workspace_key)
       ${where === '' ? 'WHERE' : `${where} AND`} (workspace_id, period) >= (?, ?) AND (${only})
       ORDER BY workspace_id, period`,
    )
    .all(...values, from?.workspaceId ?? '', from?.period ?? '') as { workspace_id: string; period: Period }[];
}
