import type Database from 'better-sqlite3';
import type { ToldEvent } from '../../core/text/alert-words.ts';
import { parseExact, stringifyExact } from '../../core/text/exact-json.ts';
import { inertJson } from '../../core/text/inert-text.ts';
import { query } from '../../ledger/store/query.ts';
import { sql } from '../../ledger/store/schema/drizzle.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import type { RuleName } from '../measures/judgement.ts';
import { groupLine } from '../notify/group-line.ts';
import { isOfReading } from '../rules/table.ts';
import { compareFigures } from '../track/alert-figures.ts';
import { shortHash } from '../track/alert-rows.ts';
import type { Notification } from '../wording/notification.ts';
import { failuresTakenOver } from './backoff.ts';
import { GATHERED } from './gather.ts';
import { takeApart } from './messages.ts';

/** So many tenants that are told of the same are one message. */
const LEAST_TENANTS = 5;
/** So many of those that were gathered after a group. */
const LEAST_GATHERED = 2;
/** So many of ourselves. */
const LEAST_WORKSPACES = 2;

interface Waiting {
  notificationId: string;
  payload: string;
  event: ToldEvent;
  rule: RuleName;
  cause: string | null;
  workspaceKey: number | null;
  periodKey: number | null;
  tenantKey: number | null;
  nextAttemptAt: string;
  attempts: number;
  attemptsBefore: number;
  createdAt: string;
  claimedUntil: string | null;
  carrier: string | null;
}

/**
 * Makes one message of what a channel is owed of one rule and event at one moment, or of one rule after a day: of many tenants,
 * or of several workspaces that share a fault. Only what nobody has had yet is grouped, and a group mutes nothing: its members count as told each.
 */
export function groupWaiting(
  connection: Database.Database,
  channel: string,
  { at, countTenants }: { at: string; countTenants: (periodKey: number) => number },
): void {
  const rows = connection.prepare(WAITING).all({ channel }) as Waiting[];
  // Those that waited take along what has come in the meantime.
  const due = new Set(rows.filter((row) => isGathered(row) && row.nextAttemptAt <= at).map(causeOf));
  const joins = (row: Waiting): boolean =>
    isGathered(row) || (row.attempts === 0 && GATHERED.includes(row.event) && due.has(causeOf(row)));
  for (const members of Map.groupBy(rows, (row) =>
    JSON.stringify([causeOf(row), joins(row) || wordOf(row)]),
  ).values()) {
    const [first] = members;
    if (first === undefined || !isMany(members, joins(first) ? LEAST_GATHERED : LEAST_TENANTS)) {
      for (const carrier of carriersOf(members)) takeApart(connection, carrier);
      continue;
    }
    const carriers = carriersOf(members);
    if (carriers.length === 1 && members.every(({ carrier }) => carrier !== null)) continue;
    for (const carrier of carriers) takeApart(connection, carrier);
    const ids = members.map(({ notificationId }) => notificationId);
    const { notificationId, payload } = renderGroup(members, { channel, at, tenants: tenantsOf(first, countTenants) });
    const tried = members.filter(({ attempts }) => attempts > 0);
    const last = latest(tried.length > 0 ? tried : members);
    const { nextAttemptAt, claimedUntil, createdAt } = last;
    // The wait goes on, from when it began: whether a clock that was ahead has said so, nobody could see otherwise.
    const wait = { nextAttemptAt, claimedUntil: claimedUntil ?? createdAt };
    const schedule = { ...wait, attempts: failuresTakenOver(last), attemptsBefore: 0 };
    const group = { notificationId, channel, payload, state: 'pending' as const, createdAt: at, ...schedule };
    query(connection).insert(outbox).values(group).run();
    query(connection)
      .update(outbox)
      .set({ state: 'digested', digestId: notificationId })
      .where(sql`${outbox.notificationId} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`)
      .run();
  }
}

/** What waits by itself, and what a group carries that nobody has had; members of a daily summary have an hour of their own. */
const WAITING = `SELECT o.notification_id AS notificationId, o.payload, o.event, a.rule, a.cause, a.workspace_key AS workspaceKey,
    a.period_key AS periodKey, a.tenant_key AS tenantKey, c.notification_id AS carrier,
    coalesce(c.next_attempt_at, o.next_attempt_at) AS nextAttemptAt, coalesce(c.attempts, o.attempts) AS attempts,
    coalesce(c.attempts_before, o.attempts_before) AS attemptsBefore, o.created_at AS createdAt, coalesce(c.claimed_until, o.claimed_until) AS claimedUntil
  FROM outbox o JOIN alerts a USING (alert_key) LEFT JOIN outbox c ON c.notification_id = o.digest_id
  WHERE o.channel = @channel AND o.event IS NOT NULL AND o.notification_id IN (
    SELECT notification_id FROM outbox WHERE state = 'pending' AND channel = @channel AND unknown_attempts = 0 AND event IS NOT NULL
    UNION ALL
    SELECT m.notification_id FROM outbox g JOIN outbox m ON m.digest_id = g.notification_id
    WHERE g.state = 'pending' AND g.channel = @channel AND g.unknown_attempts = 0 AND m.digest_at IS NULL)
  ORDER BY o.alert_key`;

/** What one thing may have moved. */
function causeOf({ rule, cause, workspaceKey, periodKey }: Waiting): string {
  return JSON.stringify(isOfReading(rule) ? [rule, cause] : [rule, workspaceKey, periodKey]);
}

function wordOf({ event }: Waiting): string {
  return event === 'again' ? 'opened' : event;
}

/** It was to wait for others, see gather.ts. */
function isGathered({ rule, attempts, createdAt, nextAttemptAt }: Waiting): boolean {
  return !isOfReading(rule) && attempts === 0 && nextAttemptAt > createdAt;
}

function isMany(members: readonly Waiting[], leastTenants: number): boolean {
  const [first] = members;
  if (first === undefined) return false;
  if (isOfReading(first.rule)) return new Set(members.map((each) => each.workspaceKey)).size >= LEAST_WORKSPACES;
  const tenants = new Set(members.flatMap(({ tenantKey }) => (tenantKey === null ? [] : [tenantKey]))).size;
  return tenants >= leastTenants;
}

function tenantsOf({ periodKey }: Waiting, countTenants: (periodKey: number) => number): number {
  return periodKey === null ? 0 : countTenants(periodKey);
}

function carriersOf(members: readonly Waiting[]): string[] {
  return [...new Set(members.flatMap(({ carrier }) => (carrier === null ? [] : [carrier])))];
}

function latest(members: readonly Waiting[]): Waiting {
  return members.reduce((last, each) => (each.nextAttemptAt > last.nextAttemptAt ? each : last));
}

/** The members stand in it whole, the largest first. */
function renderGroup(
  members: readonly Waiting[],
  { channel, at, tenants }: { channel: string; at: string; tenants: number },
) {
  const sorted = members
    .map(({ payload }) => parseExact(payload) as Notification)
    .sort((a, b) => compareFigures(sizeOf(b), sizeOf(a)));
  const [first] = sorted;
  const ids = members.map(({ notificationId }) => notificationId);
  const notificationId = `msg_${shortHash(JSON.stringify(['alert.group', channel, at, ...ids]), 32)}`;
  const ofTenants = first?.tenant_id !== null;
  const changes = sorted.flatMap(({ credits }) => (credits === null ? [] : [credits.change]));
  const group = {
    notification_id: notificationId,
    type: 'alert.group',
    event: first?.event,
    rule: first?.rule,
    cause: first?.cause,
    severity: sorted.some(({ severity }) => severity === 'critical') ? 'critical' : 'warning',
    workspace_id: ofTenants ? first?.workspace_id : null,
    period: first?.period,
    alert_count: sorted.length,
    credits_change: changes.length === 0 ? null : changes.reduce((sum, change) => sum + change, 0n),
    alerts: sorted,
    created_at: at,
    summary: groupLine(sorted, tenants),
  };
  return { notificationId, payload: inertJson(stringifyExact(group)) };
}

function sizeOf({ credits }: Notification): bigint {
  const change = credits?.change ?? 0n;
  return change < 0n ? -change : change;
}
