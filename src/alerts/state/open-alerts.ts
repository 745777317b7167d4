import { OPEN_ALERT_STATES_SQL } from '../../core/text/alert-words.ts';
import { isReadElsewhereSql } from '../../ledger/journal/retired-workspaces.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';

/** A settled alert needs no action once its workspace was read again more than this many days after it settled. */
const SETTLED_DAYS = 7;

/**
 * SQL condition for warnings about a limit that was passed within a month that is now over: nobody can slow that growth
 * any more. A critical alert becomes a warning when its month settles.
 */
const IS_PAST_GROWTH = `a.severity = 'warning' AND a.current_credits >= a.threshold AND EXISTS (
  SELECT 1 FROM periods e JOIN runs r ON r.workspace_key = e.workspace_key
  WHERE e.period_key = a.period_key AND a.began_at < e.period_end
    AND r.applied_seq IS NOT NULL AND r.finished_at >= e.period_end)`;

/**
 * SQL condition for rows of `alerts` (named `a`) that may need action. Excluded are alerts that await confirmation,
 * acknowledged alerts of a settled month, alerts that settled more than seven days ago, warnings about growth in a month
 * that is over, unchanged baselines of the first sync, alerts with the feedback `false` until they begin again, and
 * alerts of a workspace that another ledger reads.
 */
export const NEEDS_ACTION_SQL = `a.state IN ${OPEN_ALERT_STATES_SQL} AND (a.state = 'firing' OR (a.state = 'acknowledged' AND NOT EXISTS (
  SELECT 1 FROM periods s WHERE s.period_key = a.period_key AND s.final_run_key IS NOT NULL)))
  AND NOT (a.level = 'settled' AND EXISTS (SELECT 1 FROM runs r WHERE r.workspace_key = a.workspace_key
    AND r.applied_seq IS NOT NULL AND r.finished_at > strftime('%Y-%m-%dT%H:%M:%fZ', a.last_changed_at, '+${SETTLED_DAYS} days')))
  AND NOT (${IS_PAST_GROWTH})
  AND NOT EXISTS (SELECT 1 FROM alert_transitions seed
    WHERE seed.alert_key = a.alert_key AND seed.revision = a.revision AND seed.silent_because = 'seed')
  AND coalesce((SELECT f.label <> 'false' OR f.at < a.began_at FROM alert_feedback f
    WHERE f.alert_key = a.alert_key ORDER BY f.feedback_key DESC LIMIT 1), 1)
  AND NOT ${isReadElsewhereSql('a.workspace_key')}`;

/** The number of alerts with the same workspace, rule, severity and state. */
export interface AlertCount {
  /** Null for the ledger as a whole. */
  workspaceId: string | null;
  rule: string;
  severity: string;
  state: string;
  count: number;
}

/** Adds up counts of alerts, without the pending ones. */
export function countOpenAlerts(counts: readonly AlertCount[]): number {
  return counts.reduce((sum, { state, count }) => (state === 'pending' ? sum : sum + count), 0);
}

/** Counts alerts that need action, and pending ones, by workspace, rule, severity and state. */
export function countAlerts(connection: LedgerDb): AlertCount[] {
  return connection
    .prepare(
      `SELECT w.workspace_id AS workspaceId, a.rule || coalesce(':' || a.cause, '') AS rule, a.severity, a.state, count(*) AS count
       FROM alerts a LEFT JOIN workspaces w USING (workspace_key) WHERE (${NEEDS_ACTION_SQL}) OR a.state = 'pending' GROUP BY 1, 2, 3, 4`,
    )
    .all() as AlertCount[];
}
