import type { LedgerConnection } from '../../store/file/open.ts';

/** One entry, by the columns of `finance_history`. */
export interface LargestChange {
  tenant_id: string;
  period: string;
  kind: string;
  credits_delta: bigint;
  credits_after: bigint;
}

/** The entries of a run that moved the most credits, at most 20. */
export function largestChangesOfRun(connection: LedgerConnection, runId: string): LargestChange[] {
  return connection
    .prepare(
      `SELECT tenant_id, period, kind, credits_delta, credits_after FROM finance_history
       WHERE run_id = ? ORDER BY abs(credits_delta) DESC, entry_id LIMIT 20`,
    )
    .safeIntegers()
    .all(runId) as LargestChange[];
}
