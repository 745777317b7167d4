import { OPEN_ALERT_STATES_SQL } from '../../core/text/alert-words.ts';
import { isReadElsewhereSql } from '../../ledger/journal/retired-workspaces.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';

/**
 * Which rows of `alerts` (named `a`) somebody may still have to look after. One that waits to be confirmed is told to
 * nobody; one of a settled month is done with once it is acknowledged; what the first sync of a workspace found of its past
 * is on record only, until something new happens to it; what somebody has called false is done with until it begins anew; what
 * a workspace had open that another ledger reads now goes on there.
 */
export const OPEN_ALERTS = `a.state IN ${OPEN_ALERT_STATES_SQL} AND (a.state = 'firing' OR (a.state = 'acknowledged' AND NOT EXISTS (
  SELECT 1 FROM periods s WHERE s.period_key = a.period_key AND s.final_run_key IS NOT NULL)))
  AND NOT EXISTS (SELECT 1 FROM alert_transitions seed
    WHERE seed.alert_key = a.alert_key AND seed.revision = a.revision AND seed.silent_because = 'seed')
  AND coalesce((SELECT f.label <> 'false' OR f.at < a.began_at FROM alert_feedback f
    WHERE f.alert_key = a.alert_key ORDER BY f.feedback_key DESC LIMIT 1), 1)
  AND NOT ${isReadElsewhereSql('a.workspace_key')}`;

export interface AlertCount {
  /** Null: the ledger as a whole. */
  workspaceId: string | null;
  rule: string;
  severity: string;
  state: string;
  count: number;
}

export function sumOpen(counts: readonly AlertCount[]): number {
  return counts.reduce((sum, { state, count }) => (state === 'pending' ? sum : sum + count), 0);
}

/** Counts what is open or waits, by workspace, rule, severity and state. */
export function countAlerts(connection: LedgerDb): AlertCount[] {
  return connection
    .prepare(
      `SELECT w.workspace_id AS workspaceId, a.rule || coalesce(':' || a.cause, '') AS rule, a.severity, a.state, count(*) AS count
       FROM alerts a LEFT JOIN workspaces w USING (workspace_key) WHERE (${OPEN_ALERTS}) OR a.state = 'pending' GROUP BY 1, 2, 3, 4`,
    )
    .all() as AlertCount[];
}
