import type { Period } from '../../core/period.ts';
import { type AlertState, OPEN_ALERT_STATES } from '../../core/text/alert-words.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import type { RuleName, Stage } from '../rules/rule.ts';

/** One piece of news about an alert: it fired, came to a higher stage, or grew. */
export interface AlertNews {
  stage: Stage;
  atMs: number;
}

/** An alert as a replay has it. What the first run found is left out: nobody could have been told of it. */
export interface AlertStory {
  rule: RuleName;
  /** Null for the workspace as a whole. */
  tenantId: string | null;
  period: Period;
  /** It had not ended at the end of the history. */
  open: boolean;
  /** In the order in which they came; at least one. */
  news: AlertNews[];
  /** Notifications that each channel would have got, of the alert resolved included. */
  notifications: number;
}

interface NewsRow {
  alertKey: number;
  rule: RuleName;
  tenantId: string | null;
  period: Period;
  state: AlertState;
  stage: Stage;
  at: string;
}

/** The alerts of the periods from `from` to `to`, both included, in the order of period, rule and tenant. */
export function readStories(connection: LedgerConnection, { from, to }: { from: Period; to: Period }): AlertStory[] {
  const rows = connection
    .prepare(
      `SELECT a.alert_key AS alertKey, a.rule, t.tenant_id AS tenantId, p.period, a.state, x.stage, x.at
       FROM alerts a JOIN periods p USING (period_key) LEFT JOIN tenants t ON t.tenant_key = a.tenant_key
       JOIN alert_transitions x USING (alert_key)
       WHERE p.period >= ? AND p.period <= ? AND x.change IN ('fired', 'escalated', 'grown')
         AND x.silent_because IS NOT 'seed'
       ORDER BY p.period, a.rule, t.tenant_id, a.alert_key, x.revision`,
    )
    .all(from, to) as NewsRow[];
  const notifications = new Map(
    connection.prepare('SELECT alert_key, count(*) FROM outbox GROUP BY alert_key').raw().all() as [number, number][],
  );
  const stories = new Map<number, AlertStory>();
  for (const { alertKey, rule, tenantId, period, state, stage, at } of rows) {
    const story = stories.get(alertKey) ?? {
      ...{ rule, tenantId, period, open: OPEN_ALERT_STATES.includes(state), news: [] },
      notifications: notifications.get(alertKey) ?? 0,
    };
    story.news.push({ stage, atMs: Date.parse(at) });
    stories.set(alertKey, story);
  }
  return [...stories.values()];
}
