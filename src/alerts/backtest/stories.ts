import type { Period } from '../../core/period.ts';
import { OPEN_ALERT_STATES } from '../../core/text/alert-words.ts';
import type { LedgerConnection } from '../../ledger/store/file/open.ts';
import { query } from '../../ledger/store/query.ts';
import { alerts, alertTransitions } from '../../ledger/store/schema/alert-tables.ts';
import { and, asc, count, eq, gte, inArray, lte, ne, sql } from '../../ledger/store/schema/drizzle.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import { periods, tenants } from '../../ledger/store/schema/workspace-tables.ts';
import type { Level, RuleName } from '../measures/judgement.ts';

/** One piece of news about an alert: it fired, came to a higher level, or grew. */
export interface AlertNews {
  level: Level;
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

/** The alerts of the periods from `from` to `to`, both included, in the order of period, rule and tenant. */
export function readStories(connection: LedgerConnection, { from, to }: { from: Period; to: Period }): AlertStory[] {
  const db = query(connection);
  const columns = { alertKey: alerts.alertKey, rule: alerts.rule, tenantId: tenants.tenantId, state: alerts.state };
  const { change, revision, level, at, silentBecause } = alertTransitions;
  const { period } = periods;
  const isNews = and(inArray(change, ['fired', 'escalated', 'grown']), sql`${silentBecause} IS NOT 'seed'`);
  const rows = db
    .select({ ...columns, period, level, at })
    .from(alerts)
    .innerJoin(periods, eq(periods.periodKey, alerts.periodKey))
    .leftJoin(tenants, eq(tenants.tenantKey, alerts.tenantKey))
    .innerJoin(alertTransitions, eq(alertTransitions.alertKey, alerts.alertKey))
    .where(and(gte(period, from), lte(period, to), isNews))
    .orderBy(asc(period), asc(alerts.rule), asc(tenants.tenantId), asc(alerts.alertKey), asc(revision))
    .all();
  const isSent = ne(outbox.state, 'dropped');
  const sent = db
    .select({ alertKey: outbox.alertKey, count: count() })
    .from(outbox)
    .where(isSent)
    .groupBy(outbox.alertKey)
    .all();
  const notifications = new Map(sent.map((alert) => [alert.alertKey, alert.count]));
  const stories = new Map<number, AlertStory>();
  for (const { alertKey, rule, tenantId, period, state, level, at } of rows) {
    const story = stories.get(alertKey) ?? {
      ...{ rule, tenantId, period, open: OPEN_ALERT_STATES.includes(state), news: [] },
      notifications: notifications.get(alertKey) ?? 0,
    };
    story.news.push({ level, atMs: Date.parse(at) });
    stories.set(alertKey, story);
  }
  return [...stories.values()];
}
