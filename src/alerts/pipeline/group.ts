import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import type { NotificationEvent } from '../../core/text/alert-words.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { preparedSql } from '../../ledger/store/schema/drizzle.ts';
import { stopsReading } from '../rules/rules.ts';
import type { StoredAlert } from '../state/alert-store.ts';

/**
 * After a message about a fault of a service in one workspace, messages about the same fault in others are sent
 * together this much later, because the fault shows up in one workspace after another.
 */
const SERVICE_GROUP_MS = 10 * 60_000;
/**
 * After a group, or MIN_SINGLE_MESSAGES messages of their own, about tenants with the same rule and month, later ones
 * are sent together a day later, because what affects many tenants lasts for days.
 */
const TENANT_GROUP_MS = 24 * 60 * 60_000;
const MIN_SINGLE_MESSAGES = 5;
/** An alert at this multiple of its limit is an outlier. */
const OUTLIER_MULTIPLE = 3n;
/** Events that wait for a group. Ends and reminders are sent on their own. */
export const GROUPED_EVENTS: readonly NotificationEvent[] = ['opened', 'again', 'worse', 'eased', 'grown'];

interface GroupMoments {
  waitsUntil: string | null;
  notifiedAt: string | null;
}

/** SQL: the messages that the receiver has or may still get, with the time when they arrived or were composed. */
const SENT = `SELECT coalesce(d.delivered_at, d.created_at) AS at, d.delivery_key, d.form, m.event, a.*
  FROM deliveries d JOIN delivery_members m USING (delivery_key) JOIN alerts a USING (alert_key)
  WHERE d.channel = @channel AND d.state NOT IN ('refused', 'dead') AND d.created_at > @long
    AND coalesce(d.delivered_at, d.created_at) > @since AND coalesce(d.delivered_at, d.created_at) <= @at`;
const WAITING = `SELECT n.due_at, n.batch, n.pending, a.*
  FROM alert_notified n JOIN alerts a USING (alert_key)
  WHERE n.channel = @channel AND n.failures = 0 AND n.pending IS NOT NULL AND n.due_at > @at AND n.due_at <= @latest`;

/** SQL condition for the same fault in other workspaces. */
const IS_ELSEWHERE = 'rule = @rule AND cause IS @cause AND workspace_key <> @workspaceKey';
const isSameEvent = (event: string): string => `iif(${event} = 'again', 'opened', ${event}) = @event`;
const sentElsewhere = preparedSql(`SELECT
  (SELECT max(due_at) FROM (${WAITING}) WHERE ${IS_ELSEWHERE} AND ${isSameEvent("substr(pending, 1, instr(pending, ' ') - 1)")}) AS waitsUntil,
  (SELECT max(at) FROM (${SENT}) WHERE ${IS_ELSEWHERE} AND ${isSameEvent('event')}) AS notifiedAt`);

/** SQL condition for other tenants with the same rule and month. */
const IS_IN_MONTH = 'rule = @rule AND workspace_key = @workspaceKey AND period_key = @periodKey';
const IS_BEGINNING = `event IN (${GROUPED_EVENTS.map((event) => `'${event}'`).join(', ')}) AND form <> 'digest'`;
const IS_MANY = `max(form = 'group') = 1 OR count(DISTINCT delivery_key) >= ${MIN_SINGLE_MESSAGES}`;
const sentOfMany = preparedSql(`SELECT
  (SELECT max(due_at) FROM (${WAITING}) WHERE ${IS_IN_MONTH} AND batch = 'group') AS waitsUntil,
  (SELECT iif(${IS_MANY}, max(at), NULL) FROM (${SENT}) WHERE ${IS_IN_MONTH} AND ${IS_BEGINNING}) AS notifiedAt`);

/**
 * Finds until when a notification waits for others with the same rule and month, or fault, so that they become one
 * message; null if it is sent at once. Times that a clock wrote while it ran ahead are ignored.
 */
export class GroupWait {
  readonly #connection: LedgerDb;
  readonly #workspaceKey: number | null;
  readonly #nowMs: number;
  readonly #ofMany = new Map<string, string | null>();

  constructor(connection: LedgerDb, { workspaceKey, nowMs }: { workspaceKey: number | null; nowMs: number }) {
    this.#connection = connection;
    this.#workspaceKey = workspaceKey;
    this.#nowMs = nowMs;
  }

  until(alert: StoredAlert, channel: string, event: NotificationEvent): string | null {
    const { rule, cause, periodKey, tenantKey } = alert;
    if (stopsReading(rule)) {
      const about = { rule, cause, channel, event: event === 'again' ? 'opened' : event };
      return this.#ask(sentElsewhere(this.#connection), about, SERVICE_GROUP_MS);
    }
    if (periodKey === null || tenantKey === null || !GROUPED_EVENTS.includes(event) || isOutlier(alert, event))
      return null;
    const kind = JSON.stringify([rule, periodKey, channel]);
    const known = this.#ofMany.get(kind);
    if (known !== undefined) return known;
    const found = this.#ask(sentOfMany(this.#connection), { rule, periodKey, channel }, TENANT_GROUP_MS);
    this.#ofMany.set(kind, found);
    return found;
  }

  #ask(statement: Database.Statement, about: Record<string, unknown>, withinMs: number): string | null {
    const nowMs = this.#nowMs;
    const { waitsUntil, notifiedAt } = statement.get({
      ...about,
      workspaceKey: this.#workspaceKey,
      at: isoTime(nowMs),
      since: isoTime(nowMs - withinMs),
      // Messages that needed many attempts arrived long after they were composed.
      long: isoTime(nowMs - withinMs - 4 * TENANT_GROUP_MS),
      latest: isoTime(nowMs + withinMs),
    }) as GroupMoments;
    if (waitsUntil !== null) return waitsUntil;
    return notifiedAt === null ? null : isoTime(Date.parse(notifiedAt) + withinMs);
  }
}

/** Reports whether an alert is so far over its limit that it is sent without waiting for a group. */
export function isOutlier({ current, threshold, level }: StoredAlert, event: NotificationEvent): boolean {
  if (event === 'grown' || level === 'likely' || current === null || threshold === null) return false;
  return current.credits >= threshold * OUTLIER_MULTIPLE;
}
