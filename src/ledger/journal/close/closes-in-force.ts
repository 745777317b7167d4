import type { Period } from '../../../core/period.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { query } from '../../store/query.ts';
import { asc, eq, gt } from '../../store/schema/drizzle.ts';
import { periods, workspaces } from '../../store/schema/workspace-tables.ts';

/** A close that no reopen has taken back. */
export interface CloseInForce {
  eventSeq: number;
  workspaceId: string;
  period: Period;
}

/** The closes in force whose number is larger than this one, oldest first. */
export function closesInForce(connection: LedgerConnection, afterSeq: number): CloseInForce[] {
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
