import type { Period } from '../../../core/period.ts';
import { counted } from '../../../core/text/words.ts';
import type { LedgerDb } from '../../store/ledger-db.ts';
import { asc, eq, gt, query } from '../../store/schema/drizzle.ts';
import { periods, workspaces } from '../../store/schema/workspace-tables.ts';

export interface CloseInForce {
  eventSeq: number;
  workspaceId: string;
  period: Period;
}

/** Lists the closes after the position `afterSeq` of the chain that no reopen has undone, oldest first. */
export function listClosesInForce(connection: LedgerDb, afterSeq: number): CloseInForce[] {
  const closes = query(connection)
    .select()
    .from(periods)
    .innerJoin(workspaces, eq(workspaces.workspaceKey, periods.workspaceKey))
    .where(gt(periods.closedSeq, afterSeq))
    .orderBy(asc(periods.closedSeq))
    .all();
  return closes.map(({ periods: { closedSeq, period }, workspaces: { workspaceId } }) => {
    return { eventSeq: closedSeq ?? 0, workspaceId, period };
  });
}

/** A month that is open although an earlier month and a later month are closed. */
export interface SkippedMonth {
  workspaceId: string;
  period: Period;
}

/** Lists the skipped months, ordered by workspace and month, without those of retired workspaces. */
export function listSkippedMonths(connection: LedgerDb): SkippedMonth[] {
  return connection
    .prepare(
      `SELECT w.workspace_id AS workspaceId, p.period FROM periods p JOIN workspaces w USING (workspace_key)
       JOIN (SELECT workspace_key, min(period) AS first, max(period) AS last FROM periods
         WHERE closed_seq IS NOT NULL GROUP BY workspace_key) closed USING (workspace_key)
       WHERE p.closed_seq IS NULL AND w.ended_seq IS NULL AND p.period > closed.first AND p.period < closed.last
       ORDER BY w.workspace_id, p.period`,
    )
    .all() as SkippedMonth[];
}

/**
 * Describes skipped months: "2026-01 of ws-1 and 2 more months are not closed, though a later month is"; null when
 * there is none.
 */
export function describeSkipped(skipped: readonly SkippedMonth[]): string | null {
  const [first] = skipped;
  if (first === undefined) return null;
  const more = skipped.length - 1;
  const rest = more === 0 ? '' : ` and ${counted(more, 'more month')}`;
  return `${first.period} of ${first.workspaceId}${rest} ${more === 0 ? 'is' : 'are'} not closed, though a later month is`;
}
