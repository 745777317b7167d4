import type { Period } from '../../../core/period.ts';
import type { LedgerConnection } from '../../store/file/open.ts';

/** A close that no reopen has taken back. */
export interface CloseInForce {
  eventSeq: number;
  workspaceId: string;
  period: Period;
}

/** The closes in force whose number is larger than this one, oldest first. */
export function closesInForce(connection: LedgerConnection, afterSeq: number): CloseInForce[] {
  return connection
    .prepare(
      `SELECT p.closed_seq AS eventSeq, w.workspace_id AS workspaceId, p.period
       FROM periods p JOIN workspaces w USING (workspace_key) WHERE p.closed_seq > ? ORDER BY p.closed_seq`,
    )
    .all(afterSeq) as CloseInForce[];
}
