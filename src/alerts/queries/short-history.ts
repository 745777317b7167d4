import { addPeriods, type Period, periodAt } from '../../core/period.ts';
import { counted } from '../../core/text/words.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';

/** A workspace whose first month may be incomplete, so that it cannot serve as a baseline. */
export interface ShortHistory {
  workspaceId: string;
  /** The first month in the ledger. */
  first: Period;
  /** The first month for which the month before is complete in the ledger. */
  from: Period;
}

/** Returns the workspaces that have no month to compare with yet, without retired ones. */
export function findShortHistories(connection: LedgerDb, nowMs: number): ShortHistory[] {
  const found = connection
    .prepare(
      `SELECT w.workspace_id AS workspaceId, min(p.period) AS first FROM periods p JOIN workspaces w USING (workspace_key)
       WHERE w.ended_seq IS NULL GROUP BY workspace_key ORDER BY w.workspace_id`,
    )
    .all() as { workspaceId: string; first: Period }[];
  return found
    .map(({ workspaceId, first }) => ({ workspaceId, first, from: addPeriods(first, 2) }))
    .filter(({ from }) => from > periodAt(nowMs));
}

/**
 * Returns the end of a sentence about alerts, such as "of ws-1 are rarely sent before 2026-05, and never for new
 * tenants: ..."; null if there is no such workspace.
 */
export function describeShortHistories(histories: readonly ShortHistory[]): string | null {
  const [one] = histories;
  if (one === undefined) return null;
  const more = histories.length - 1;
  const rest = more === 0 ? '' : `; the same applies to ${counted(more, 'more workspace')}`;
  return `of ${one.workspaceId} are rarely sent before ${one.from}, and never for new tenants: its first month, ${one.first}, may be incomplete${rest}`;
}
