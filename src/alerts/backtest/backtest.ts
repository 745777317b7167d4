import { nextTurn, systemClock } from '../../core/clock.ts';
import type { Period } from '../../core/period.ts';
import type { Level, RuleName } from '../../core/text/alert-words.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import type { RunAlertSettings } from '../evaluate-run.ts';
import { KeptHistory } from '../forecast/usage-history.ts';
import type { FeedbackLabel } from '../state/feedback.ts';
import { type Accuracy, readAccuracy } from './accuracy.ts';
import { findHistory, type RecordedHistory, readRecordedLinks } from './history.ts';
import { Replica } from './replica.ts';

/** The evaluated periods, both included. The replay always starts at the beginning of the history. */
type BacktestWindow = { from: Period; to: Period };

export interface BacktestRequest {
  ledger: LedgerDb;
  workspaceId: string;
  settings: RunAlertSettings;
  window: BacktestWindow;
  signal: AbortSignal;
  onProgress?: (progress: { runs: number; totalRuns: number }) => void;
}

/** An alert that receivers would have been notified of under the settings, or that a person labelled. */
export interface BacktestAlert {
  period: Period;
  rule: RuleName;
  tenantId: string | null;
  /** The highest level that the alert reached; null if nobody would have been notified. */
  level: Level | null;
  /** ISO-8601 UTC. */
  firstFiredAt: string | null;
  /** The number of messages that each channel would have received about the alert, including its end. */
  notifications: number;
  label: FeedbackLabel | null;
}

export interface BacktestResult {
  history: RecordedHistory;
  alerts: BacktestAlert[];
  accuracy: Accuracy;
}

/** The replay pauses after this time, so that a stop signal and the progress bar are handled. */
const TURN_MS = 50;

/**
 * Replays a workspace's recorded history through the rules under other settings, and returns the alerts that receivers
 * would have been notified of. The ledger is only read. Silences, plans, acknowledgements and system alerts are left
 * out.
 *
 * @throws AppError `no_history` if there is nothing to replay, or the abort reason of `signal`.
 */
export async function backtest(request: BacktestRequest): Promise<BacktestResult> {
  const { ledger, workspaceId, settings, window, signal, onProgress } = request;
  const history = findHistory(ledger, workspaceId);
  const kept = new KeptHistory(ledger, history.workspaceKey);
  const replica = new Replica({ ledger, history, kept, settings });
  try {
    let runs = 0;
    let turnEndsMs = systemClock.monotonic() + TURN_MS;
    for (const link of readRecordedLinks(ledger, history)) {
      replica.play(link);
      if (link.action === 'run') runs += 1;
      if (systemClock.monotonic() < turnEndsMs) continue;
      onProgress?.({ runs, totalRuns: history.runs });
      await nextTurn();
      signal.throwIfAborted();
      turnEndsMs = systemClock.monotonic() + TURN_MS;
    }
    const labelled = readLabels(ledger, history.workspaceKey, window);
    const labels = new Map(labelled.map((alert) => [keyOf(alert), alert.label]));
    const notified = readNotified(replica.connection, window).map((alert) => ({
      ...alert,
      label: labels.get(keyOf(alert)) ?? null,
    }));
    for (const alert of notified) labels.delete(keyOf(alert));
    const alerts = [...notified, ...labelled.filter((alert) => labels.has(keyOf(alert)))];
    return { history, alerts, accuracy: readAccuracy(replica.connection, window, history) };
  } finally {
    replica.close();
  }
}

function keyOf({ rule, tenantId, period }: BacktestAlert): string {
  return JSON.stringify([rule, tenantId, period]);
}

/** Reads the alerts of the replay, except those of the first run, which only records a baseline. */
function readNotified(connection: LedgerDb, { from, to }: BacktestWindow): BacktestAlert[] {
  return connection
    .prepare(
      `SELECT p.period, a.rule, t.tenant_id AS tenantId,
         CASE max(CASE x.level WHEN 'settled' THEN 2 WHEN 'happened' THEN 1 ELSE 0 END)
           WHEN 2 THEN 'settled' WHEN 1 THEN 'happened' ELSE 'likely' END AS level, min(x.at) AS firstFiredAt,
         (SELECT count(*) FROM delivery_members m WHERE m.alert_key = a.alert_key) AS notifications,
         NULL AS label
       FROM alerts a JOIN periods p USING (period_key) LEFT JOIN tenants t ON t.tenant_key = a.tenant_key
       JOIN alert_transitions x USING (alert_key)
       WHERE p.period BETWEEN ? AND ? AND x.change IN ('fired', 'escalated', 'grown') AND x.silent_because IS NOT 'seed'
       GROUP BY a.alert_key ORDER BY p.period, a.rule, t.tenant_id`,
    )
    .all(from, to) as BacktestAlert[];
}

function readLabels(connection: LedgerDb, workspaceKey: number, { from, to }: BacktestWindow): BacktestAlert[] {
  return connection
    .prepare(
      `SELECT p.period, a.rule, t.tenant_id AS tenantId, NULL AS level, NULL AS firstFiredAt, 0 AS notifications, f.label
       FROM alerts a JOIN periods p USING (period_key) LEFT JOIN tenants t ON t.tenant_key = a.tenant_key
       JOIN alert_feedback f ON f.feedback_key = (
         SELECT max(l.feedback_key) FROM alert_feedback l WHERE l.alert_key = a.alert_key)
       WHERE a.workspace_key = ? AND p.period BETWEEN ? AND ? ORDER BY p.period, a.rule, t.tenant_id`,
    )
    .all(workspaceKey, from, to) as BacktestAlert[];
}
