import type { Period, PeriodWindow } from '../../core/period.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { whereClause } from '../../ledger/store/where.ts';

export interface MonthFilters {
  workspaceId?: string | undefined;
  period?: Period | PeriodWindow | undefined;
  /**
   * The listing starts with this month of this workspace; null to start with the first month of the first workspace.
   */
  from: { workspaceId: string; period: Period } | null;
  /** An SQL condition on `periods` that selects the months to return; default: all months. */
  only?: string | undefined;
}

/**
 * Returns the months that the ledger has for each workspace, sorted by workspace and month. Listings that are read in
 * pages query these months one by one. An index then finds the rows of one workspace and month; no index covers all
 * months together.
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
