import { keptFromRun } from '../../journal/runs/prune-runs.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { FAULTS_A_CHECK, type Fault } from './fault.ts';

/**
 * A run is applied exactly when it stands in the chain, and then it says no error. Its id, which the digest covers,
 * says when it was started.
 */
export function checkRuns(connection: LedgerConnection): Fault[] {
  const rows = connection
    .prepare(
      `SELECT run_id AS runId FROM runs
       WHERE (status = 'applied') <> (applied_seq IS NOT NULL)
         OR (applied_seq IS NOT NULL AND (error_code IS NOT NULL OR error_message IS NOT NULL
           OR (first_entry_id IS NULL) <> (entries = 0)
           OR substr(run_id, 1, length(run_id) - 8)
             <> 'run_' || replace(replace(replace(started_at, '-', ''), ':', ''), '.', '') || '_'))
       ORDER BY run_key LIMIT ${FAULTS_A_CHECK}`,
    )
    .all() as { runId: string }[];
  return rows.map(({ runId }) => ({
    check: 'runs',
    runId,
    entryId: null,
    message: 'its status, error, first entry or start is not that of a run in its place of the chain',
  }));
}

/**
 * Every applied run has exactly one accepted walk: its last, whose counts are the run's. No other run has one. Old runs
 * without entries may have lost all of theirs to the retention.
 */
export function checkWalks(connection: LedgerConnection): Fault[] {
  const rows = connection
    .prepare(
      `SELECT r.run_id AS runId FROM runs r LEFT JOIN walks w USING (run_key)
       WHERE w.run_key IS NOT NULL OR r.entries <> 0 OR r.run_key NOT BETWEEN 1 AND ? - 1
       GROUP BY r.run_key
       HAVING count(w.walk_number) FILTER (WHERE w.verdict = 'accepted') <> (r.applied_seq IS NOT NULL)
         OR (r.applied_seq IS NOT NULL AND (
           count(w.walk_number) FILTER (WHERE w.verdict = 'accepted' AND w.records = r.records AND w.pages = r.pages
             AND w.distinct_keys = w.total_records AND w.records = w.total_records
             AND (w.pages = w.total_pages OR (w.pages = 1 AND w.total_pages = 0 AND w.records = 0))) <> 1
           OR max(w.walk_number) <> max(w.walk_number) FILTER (WHERE w.verdict = 'accepted')
           OR min(w.walk_number) <> 1 OR max(w.walk_number) <> count(w.walk_number)))
       ORDER BY r.run_key LIMIT ${FAULTS_A_CHECK}`,
    )
    .all(keptFromRun(connection)) as { runId: string }[];
  return rows.map(({ runId }) => ({
    check: 'walks',
    runId,
    entryId: null,
    message: 'its certificate is missing, or its counts are not those of the run',
  }));
}
