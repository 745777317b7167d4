import { isPeriod, periodBounds } from '../../../core/period.ts';
import { keptFromRun } from '../../journal/runs/prune-runs.ts';
import type { LedgerConnection } from '../../store/file/open.ts';
import { PERIODS_PER_WORKSPACE } from '../../store/schema/keys.ts';
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

/**
 * A period's key says its workspace and its month; it is there because entries or adjustments are; and the run that
 * covered it last is the last in the chain whose window it lies in. Its bounds are those of its month.
 */
export function checkPeriods(connection: LedgerConnection): Fault[] {
  const rows = connection
    .prepare(
      `WITH windows AS (
         SELECT workspace_key, coalesce(from_period, '') AS first, coalesce(to_period, '') AS last,
           max(applied_seq) AS seq
         FROM runs WHERE applied_seq IS NOT NULL GROUP BY 1, 2, 3),
       latest AS (
         SELECT p.period_key, max(n.seq) AS seq
         FROM periods p JOIN windows n ON n.workspace_key = p.workspace_key AND p.period BETWEEN n.first AND n.last
         GROUP BY p.period_key),
       judged AS (
         SELECT p.period_key, p.workspace_key, p.period,
           p.period_key IS NOT p.workspace_key * ${PERIODS_PER_WORKSPACE}
             + CAST(substr(p.period, 1, 4) AS INTEGER) * 12 + CAST(substr(p.period, 6, 2) AS INTEGER) - 1 AS misnamed,
           EXISTS (SELECT 1 FROM usage_entries e WHERE e.period_key = p.period_key) AS used,
           EXISTS (SELECT 1 FROM adjustments a WHERE a.booked_period_key = p.period_key) AS booked,
           EXISTS (SELECT 1 FROM period_events c WHERE c.period_key = p.period_key) AS closed,
           p.covered_run_key, r.run_key AS latest_run_key
         FROM periods p LEFT JOIN latest l USING (period_key) LEFT JOIN runs r ON r.applied_seq = l.seq)
       SELECT j.period, coalesce(w.workspace_id, '') AS workspaceId,
         CASE WHEN j.misnamed THEN 'its key is that of another period'
           WHEN NOT (j.used OR j.booked OR j.closed) THEN 'nothing was ever recorded or booked in it'
           ELSE 'the run that covered it last is another one' END AS message
       FROM judged j LEFT JOIN workspaces w USING (workspace_key)
       -- A period that was made for a booking has been covered by no run at first.
       WHERE j.misnamed OR NOT (j.used OR j.booked OR j.closed)
         OR (j.covered_run_key IS NOT j.latest_run_key AND (j.used OR j.covered_run_key IS NOT NULL))
       ORDER BY j.period_key LIMIT ${FAULTS_A_CHECK}`,
    )
    .all() as StrangePeriod[];
  const faults = [...rows, ...strangeBounds(connection)].map(({ period, workspaceId, message }) => ({
    check: 'periods' as const,
    runId: null,
    entryId: null,
    message: `${period} of workspace ${JSON.stringify(workspaceId)}: ${message}`,
  }));
  return faults.slice(0, FAULTS_A_CHECK);
}

interface StrangePeriod {
  period: string;
  workspaceId: string;
  message: string;
}

function strangeBounds(connection: LedgerConnection): StrangePeriod[] {
  const rows = connection
    .prepare(
      `SELECT p.period, p.period_start AS start, p.period_end AS end, coalesce(w.workspace_id, '') AS workspaceId
       FROM periods p LEFT JOIN workspaces w USING (workspace_key) ORDER BY p.period_key`,
    )
    .iterate() as IterableIterator<{ period: string; start: string; end: string; workspaceId: string }>;
  const strange: StrangePeriod[] = [];
  for (const { period, start, end, workspaceId } of rows) {
    if (!isPeriod(period)) continue;
    const bounds = periodBounds(period);
    if (start === bounds.start && end === bounds.end) continue;
    strange.push({ period, workspaceId, message: `it is said to last from ${start} to ${end}` });
  }
  return strange;
}
