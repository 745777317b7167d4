import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { DAY_MS } from '../../core/durations.ts';
import type { NotificationEvent } from '../../core/text/alert-words.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { deliveryMembers } from '../../ledger/store/schema/alert-tables.ts';
import { deliveries } from '../../ledger/store/schema/delivery-tables.ts';
import { and, eq, inserter, ne, perConnection, preparedSql, query, sql } from '../../ledger/store/schema/drizzle.ts';
import type { Notifying } from '../pipeline/route.ts';
import type { StoredAlert } from '../state/alert-store.ts';
import { DELIVERY_TABLE, type DeliveryEvent, type MemberEffect } from './delivery-states.ts';

/** How long a sender may hold a message. Longer than the timeout of any channel. */
const CLAIM_MS = 60_000;

export interface ClaimedDelivery {
  notificationId: string;
  channel: string;
  payload: string;
  attempts: number;
  failures: number;
  members: number;
  /** When the sender claimed the message, ISO-8601 UTC. A later claim has another time. */
  claimedAt: string;
}

export interface AttemptRecord {
  notificationId: string;
  /**
   * The claim that the attempt belongs to. If a later sender has claimed the message since, the result is ignored.
   * Absent: the last claim.
   */
  claimedAt?: string;
  event: DeliveryEvent;
  /** Time until the message, or a new one about the same alerts, is tried again. */
  delayMs: number;
  error: string | null;
  /** The size in bytes that the receiver refused as too large. */
  tooLarge?: number;
  nowMs: number;
}

export interface DeliveryMember {
  alert: Pick<StoredAlert, 'alertKey' | 'episode' | 'level' | 'severity' | 'magnitude'>;
  event: NotificationEvent;
  notifiedCount: number;
  revision: number;
}

const insertDelivery = preparedSql(
  `INSERT INTO deliveries (notification_id, channel, form, payload, state, failures, created_at, due_at, scheduled_at)
       VALUES (@notificationId, @channel, @form, @payload, 'fresh', @failures, @at, @at, @at) RETURNING delivery_key`,
  'pluck',
);
const insertMember = inserter(deliveryMembers);
const beginDelivery =
  preparedSql(`INSERT INTO alert_notified (alert_key, channel, delivery_key, revision) VALUES (@alertKey, @channel, @deliveryKey, @revision)
     ON CONFLICT DO UPDATE SET delivery_key = @deliveryKey, revision = @revision, due_at = NULL, scheduled_at = NULL`);

/** Stores a message that is to be sent now. Runs inside the caller's transaction. */
export function writeDelivery(
  connection: LedgerDb,
  delivery: Pick<typeof deliveries.$inferSelect, 'notificationId' | 'channel' | 'form' | 'payload' | 'failures'> & {
    at: string;
  },
  members: readonly DeliveryMember[],
): void {
  const deliveryKey = insertDelivery(connection).get(delivery) as number;
  for (const { alert, event, notifiedCount, revision } of members) {
    const { alertKey, episode, level, severity, magnitude } = alert;
    insertMember(connection)({
      deliveryKey,
      alertKey,
      revision,
      event,
      episode,
      level,
      severity,
      notifiedCount,
      magnitude,
    });
    beginDelivery(connection).run({ deliveryKey, revision, alertKey, channel: delivery.channel });
  }
}

const selectOne =
  preparedSql(`SELECT delivery_key AS deliveryKey, notification_id AS notificationId, channel, payload, state, attempts, failures,
       scheduled_at AS claimedAt, due_at <= @at AS isDue, (SELECT count(*) FROM delivery_members m WHERE m.delivery_key = d.delivery_key) AS members
     FROM deliveries d WHERE notification_id = @notificationId`);

type KnownDelivery = ClaimedDelivery &
  Pick<typeof deliveries.$inferSelect, 'deliveryKey' | 'state'> & { isDue: number };

/**
 * Claims a due message for a sender. Null if it is not due, has ended, or was never tried and its channel is not
 * configured. The claim of a sender that dies expires, so a message may arrive twice, under the same id, but is never
 * lost.
 */
export function claimDelivery(
  connection: LedgerDb,
  { notificationId, routes, nowMs }: Notifying & { notificationId: string },
): ClaimedDelivery | null {
  return connection
    .transaction(() => {
      const known = selectOne(connection).get({ notificationId, at: isoTime(nowMs) }) as KnownDelivery | undefined;
      if (known === undefined || known.isDue !== 1) return null;
      const isServed = routes.some(({ channel }) => channel === known.channel);
      const next = DELIVERY_TABLE[known.state].claim;
      if (next === null || (known.state === 'fresh' && !isServed)) return null;
      const claimedAt = isoTime(nowMs);
      const wait = { dueAt: isoTime(nowMs + CLAIM_MS), scheduledAt: claimedAt };
      update(connection, known.deliveryKey, { state: next.state, ...wait });
      const { channel, payload, attempts, failures, members } = known;
      return { notificationId, channel, payload, attempts, failures, members, claimedAt };
    })
    .immediate();
}

/** Records the result of an attempt. Runs inside the caller's transaction; a late result changes nothing. */
export function recordAttempt(connection: LedgerDb, record: AttemptRecord): void {
  const { notificationId, claimedAt, event, delayMs, error, tooLarge, nowMs } = record;
  const now = isoTime(nowMs);
  const known = selectOne(connection).get({ notificationId, at: now }) as KnownDelivery | undefined;
  const next = known === undefined ? null : DELIVERY_TABLE[known.state][event];
  if (known === undefined || next === null) return;
  const { deliveryKey, channel } = known;
  const retryAt = isoTime(nowMs + delayMs);
  const isOver = next.members !== undefined;
  const attempts = known.attempts + (event === 'cut_off' ? 0 : 1);
  if (!isOver && claimedAt !== undefined && claimedAt !== known.claimedAt) {
    update(connection, deliveryKey, { attempts });
    return;
  }
  const failures = failuresAfter(record, known.failures);
  update(connection, deliveryKey, {
    state: next.state,
    attempts,
    failures,
    dueAt: isOver ? null : retryAt,
    scheduledAt: isOver ? null : now,
    lastError: error,
    ...(next.state === 'delivered' ? { deliveredAt: now } : {}),
    ...(next.state === 'refused' ? { payload: onlySentence } : {}),
  });
  if (tooLarge !== undefined) lowerBound(connection, channel, Math.ceil(tooLarge / 2), now);
  if (next.members === undefined) return;
  affectMembers(connection, next.members, { deliveryKey, now, dueAt: retryAt, failures });
  if (event === 'accepted') freeGivenUp(connection, channel, nowMs);
}

/** Counts consecutive failed attempts. A rejection resets the count; a message that was too large does not count. */
function failuresAfter({ event, tooLarge }: AttemptRecord, before: number): number {
  if (event === 'rejected') return 0;
  const isFailure = event === 'refused' || event === 'unknown' || event === 'exhausted';
  return isFailure && tooLarge === undefined ? before + 1 : before;
}

/**
 * Applies an event that no attempt causes to a message. Does nothing if the message's state ignores the event. Runs
 * inside the caller's transaction.
 */
export function moveDelivery(
  connection: LedgerDb,
  { deliveryKey, state }: Pick<typeof deliveries.$inferSelect, 'deliveryKey' | 'state'>,
  event: 'outdated' | 'replay' | 'withdraw',
  now: string,
): void {
  const next = DELIVERY_TABLE[state][event];
  if (next === null) return;
  const isOver = next.members !== undefined;
  const wait = isOver
    ? { dueAt: null, scheduledAt: null, payload: onlySentence }
    : { dueAt: now, scheduledAt: now, failures: 0 };
  update(connection, deliveryKey, { state: next.state, ...wait });
  if (next.members !== undefined)
    affectMembers(connection, next.members, { deliveryKey, now, dueAt: now, failures: null });
}

/**
 * Keeps only the summary of a message that was not delivered. It is stored as plain text, because the trigger that
 * computes the row's digest would parse JSON.
 */
const onlySentence = sql`json_object('summary', ${deliveries.payload} ->> '$.summary') || ''`;

function update(
  connection: LedgerDb,
  deliveryKey: number,
  set: Parameters<ReturnType<ReturnType<typeof query>['update']>['set']>[0],
): void {
  query(connection).update(deliveries).set(set).where(eq(deliveries.deliveryKey, deliveryKey)).run();
}

/** Lowers the largest message size of a channel; larger messages without an attempt are composed again. */
function lowerBound(connection: LedgerDb, channel: string, mostBytes: number, now: string): void {
  connection
    .prepare(
      `INSERT INTO channel_states (name, most_bytes) VALUES (?, ?)
       ON CONFLICT DO UPDATE SET most_bytes = min(coalesce(most_bytes, excluded.most_bytes), excluded.most_bytes)`,
    )
    .run(channel, mostBytes);
  const isTooLarge = and(
    eq(deliveries.channel, channel),
    eq(deliveries.state, 'fresh'),
    ne(deliveries.form, 'single'),
    sql`octet_length(${deliveries.payload}) > ${mostBytes}`,
  );
  for (const delivery of query(connection).select().from(deliveries).where(isTooLarge).all()) {
    moveDelivery(connection, delivery, 'outdated', now);
  }
}

const MESSAGES_A_STEP = 500;

export interface PrunedDeliveries {
  notifications: number;
  more: boolean;
}

const OLD = `SELECT delivery_key FROM deliveries d WHERE created_at < @before AND due_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM delivery_members m JOIN alerts a USING (alert_key)
    WHERE m.delivery_key = d.delivery_key AND a.state NOT IN ('resolved', 'expired'))
  ORDER BY created_at, delivery_key LIMIT ${MESSAGES_A_STEP}`;

/**
 * Deletes ended messages created before `before` (ISO-8601 UTC). Messages about open alerts and the last notification
 * of each channel are kept.
 */
export function pruneDeliveries(connection: LedgerDb, before: string): PrunedDeliveries {
  return connection
    .transaction(() => {
      connection.prepare(`DELETE FROM delivery_members WHERE delivery_key IN (${OLD})`).run({ before });
      // Messages without members are deleted.
      const { changes } = connection.prepare(`DELETE FROM deliveries WHERE delivery_key IN (${OLD})`).run({ before });
      return { notifications: changes, more: changes === MESSAGES_A_STEP };
    })
    .immediate();
}

interface MemberMoment {
  deliveryKey: number;
  now: string;
  dueAt: string;
  /** Number of refused attempts in a row; null: unchanged. */
  failures: number | null;
}

/** Makes the channel decide again now. */
const DECIDE_NOW = 'due_at = @now, scheduled_at = @now';
const IS_MEMBER = `(alert_key, channel) IN (SELECT m.alert_key, d.channel FROM delivery_members m
  JOIN deliveries d USING (delivery_key) WHERE m.delivery_key = @deliveryKey)`;
/** True if the channel's last notification is from this message and no later one repeated it. */
const IS_LAST_NOTIFICATION = `EXISTS (SELECT 1 FROM delivery_members m WHERE m.delivery_key = @deliveryKey
  AND m.alert_key = n.alert_key AND (m.event, m.episode, m.level, m.notified_count) = (n.event, n.episode, n.level, n.notified_count)
  AND NOT EXISTS (SELECT 1 FROM delivery_members later JOIN deliveries d USING (delivery_key)
    WHERE later.alert_key = n.alert_key AND later.revision > m.revision AND d.channel = n.channel AND d.state = 'delivered'))`;

/**
 * `notified`: an end keeps the time of the message before it, because only other messages count for the daily limit.
 * `forgotten`: the message counts as not delivered and the daily limit does not apply, but an end is still sent.
 */
const EFFECTS: Record<MemberEffect, readonly string[]> = {
  notified: [
    `UPDATE alert_notified AS n SET event = m.event, episode = m.episode, level = m.level, severity = m.severity, notified_count = m.notified_count,
       magnitude = m.magnitude, open = m.event <> 'closed', at = iif(m.event <> 'closed' OR n.at IS NULL, @now, n.at),
       at_once = iif(m.event <> 'closed' OR n.at_once IS NULL, d.form <> 'digest', n.at_once),
       pending = NULL, pending_at = NULL, batch = NULL, failures = 0, given_up = 0, delivery_key = NULL, ${DECIDE_NOW}
     FROM delivery_members m JOIN deliveries d USING (delivery_key)
     WHERE n.delivery_key = @deliveryKey AND m.delivery_key = n.delivery_key AND m.alert_key = n.alert_key`,
  ],
  freed: [
    `UPDATE alert_notified SET delivery_key = NULL, due_at = @dueAt, scheduled_at = @now, failures = coalesce(@failures, failures)
     WHERE delivery_key = @deliveryKey`,
  ],
  given_up: [
    `UPDATE alert_notified SET delivery_key = NULL, given_up = 1, due_at = NULL, scheduled_at = @now,
       failures = coalesce(@failures, failures) WHERE delivery_key = @deliveryKey`,
  ],
  forgotten: [
    `UPDATE alert_notified SET given_up = 0, failures = 0, ${DECIDE_NOW} WHERE ${IS_MEMBER} AND delivery_key IS NULL`,
    `UPDATE alert_notified AS n SET episode = episode - iif(event = 'closed', 0, 1), open = 1, at_once = 0
     WHERE ${IS_MEMBER} AND ${IS_LAST_NOTIFICATION}`,
  ],
  dropped: [
    `UPDATE alert_notified SET delivery_key = NULL, pending = NULL, pending_at = NULL, batch = NULL, due_at = NULL,
       scheduled_at = NULL, failures = 0, given_up = 0 WHERE delivery_key = @deliveryKey`,
  ],
};

const statements = perConnection((connection) => {
  const prepared = Object.entries(EFFECTS).map(([effect, all]) => [effect, all.map((one) => connection.prepare(one))]);
  return Object.fromEntries(prepared) as Record<MemberEffect, Database.Statement[]>;
});

/** Applies the effect of a delivery event to the members of its message. Runs inside the caller's transaction. */
function affectMembers(connection: LedgerDb, effect: MemberEffect, moment: MemberMoment): void {
  for (const statement of statements(connection)[effect]) statement.run(moment);
}

/**
 * Retries given-up notifications after a channel accepted a message: at once if they failed for three days, after a day
 * if they were rejected. Their messages are closed.
 */
function freeGivenUp(connection: LedgerDb, channel: string, nowMs: number): void {
  const moment = { channel, now: isoTime(nowMs), before: isoTime(nowMs - DAY_MS) };
  const isFreed =
    'n.channel = @channel AND n.given_up = 1 AND n.pending IS NOT NULL AND (n.failures > 0 OR n.scheduled_at <= @before)';
  connection
    .prepare(
      `UPDATE deliveries SET state = 'refused' WHERE state = 'dead' AND channel = @channel AND delivery_key IN (
         SELECT m.delivery_key FROM alert_notified n JOIN delivery_members m USING (alert_key)
         WHERE ${isFreed} AND m.revision = n.revision)`,
    )
    .run({ channel: moment.channel, before: moment.before });
  connection
    .prepare(`UPDATE alert_notified AS n SET given_up = 0, failures = 0, ${DECIDE_NOW} WHERE ${isFreed}`)
    .run(moment);
}
