import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { DAY_MS } from '../../core/durations.ts';
import type { NotificationEvent } from '../../core/text/alert-words.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { deliveryMembers } from '../../ledger/store/schema/alert-tables.ts';
import { deliveries } from '../../ledger/store/schema/delivery-tables.ts';
import { and, eq, inserter, ne, perConnection, preparedSql, query, sql } from '../../ledger/store/schema/drizzle.ts';
import type { NotifyOptions } from '../pipeline/route.ts';
import type { StoredAlert } from '../state/alert-store.ts';
import { DELIVERY_TABLE, type DeliveryEvent, type MemberEffect } from './delivery-states.ts';

/** How long a sender's claim on a message lasts. It is longer than the timeout of any channel. */
const CLAIM_MS = 60_000;

/** A message that one sender may send now. */
export interface ClaimedDelivery {
  notificationId: string;
  channel: string;
  payload: string;
  attempts: number;
  /** Failed attempts in a row, including those of earlier messages about the same alerts. */
  failures: number;
  /** The number of alerts in the message. */
  members: number;
  /** When the sender claimed the message, ISO-8601 UTC. A later claim has another time. */
  claimedAt: string;
}

/** The result of one attempt to send a message. */
export interface AttemptRecord {
  notificationId: string;
  /**
   * The claim that the attempt belongs to; absent: the last claim. If another sender has claimed the message since, a
   * result that does not end the message only counts as an attempt.
   */
  claimedAt?: string;
  event: DeliveryEvent;
  /** Time until the message, or a new one about the same alerts, is tried again. */
  delayMs: number;
  error: string | null;
  /** The size of the message, in bytes, if the receiver refused it as too large. */
  tooLarge?: number;
  nowMs: number;
}

/** An alert in a message, as the message shows it. */
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
 * Claims a due message for a sender. Returns null if it is not due, has ended, or was never tried and its channel is
 * not configured. The claim of a sender that dies expires and the message is sent again: it may arrive twice, under the
 * same id, but is never lost.
 */
export function claimDelivery(
  connection: LedgerDb,
  { notificationId, routes, nowMs }: NotifyOptions & { notificationId: string },
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

/** Records the result of an attempt, unless the message has already ended. Runs inside the caller's transaction. */
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

/**
 * Returns the failed attempts in a row. A rejection resets their number; a message that was too large is not counted.
 */
function failuresAfter({ event, tooLarge }: AttemptRecord, before: number): number {
  if (event === 'rejected') return 0;
  const isFailure = event === 'refused' || event === 'unknown' || event === 'exhausted';
  return isFailure && tooLarge === undefined ? before + 1 : before;
}

/**
 * Changes a message's state after an event other than an attempt, if that state does not ignore the event. Runs inside
 * the caller's transaction.
 */
export function applyDeliveryEvent(
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
 * SQL expression that keeps only the summary of a message that was not delivered. Appending '' makes it plain text: the
 * trigger that computes the row's digest would parse JSON.
 */
const onlySentence = sql`json_object('summary', ${deliveries.payload} ->> '$.summary') || ''`;

function update(
  connection: LedgerDb,
  deliveryKey: number,
  set: Parameters<ReturnType<ReturnType<typeof query>['update']>['set']>[0],
): void {
  query(connection).update(deliveries).set(set).where(eq(deliveries.deliveryKey, deliveryKey)).run();
}

/** Lowers the largest message size of a channel. Larger messages that were not tried yet are composed again. */
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
    applyDeliveryEvent(connection, delivery, 'outdated', now);
  }
}

const MESSAGES_A_STEP = 500;

export interface PruneDeliveriesResult {
  /** The number of deleted messages. */
  notifications: number;
  /** True if there may be more to delete. */
  more: boolean;
}

const OLD = `SELECT delivery_key FROM deliveries d WHERE created_at < @before AND due_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM delivery_members m JOIN alerts a USING (alert_key)
    WHERE m.delivery_key = d.delivery_key AND a.state NOT IN ('resolved', 'expired'))
  ORDER BY created_at, delivery_key LIMIT ${MESSAGES_A_STEP}`;

/**
 * Deletes up to 500 ended messages created before `before` (ISO-8601 UTC). Keeps messages about open alerts, and what
 * each channel was last notified of.
 */
export function pruneDeliveries(connection: LedgerDb, before: string): PruneDeliveriesResult {
  return connection
    .transaction(() => {
      connection.prepare(`DELETE FROM delivery_members WHERE delivery_key IN (${OLD})`).run({ before });
      // The condition still holds for messages whose members were just deleted.
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

/** SQL assignments that make the next check decide again about the alert on the channel. */
const DECIDE_NOW = 'due_at = @now, scheduled_at = @now';
const IS_MEMBER = `(alert_key, channel) IN (SELECT m.alert_key, d.channel FROM delivery_members m
  JOIN deliveries d USING (delivery_key) WHERE m.delivery_key = @deliveryKey)`;
/** SQL condition: the channel's last notification is from this message, and no later message repeated it. */
const IS_LAST_NOTIFICATION = `EXISTS (SELECT 1 FROM delivery_members m WHERE m.delivery_key = @deliveryKey
  AND m.alert_key = n.alert_key AND (m.event, m.episode, m.level, m.notified_count) = (n.event, n.episode, n.level, n.notified_count)
  AND NOT EXISTS (SELECT 1 FROM delivery_members later JOIN deliveries d USING (delivery_key)
    WHERE later.alert_key = n.alert_key AND later.revision > m.revision AND d.channel = n.channel AND d.state = 'delivered'))`;

/**
 * SQL statements for each effect on the alerts of a message. In `notified`, a message about an end leaves the time of
 * the one before, because ends do not count for the limit of one message a day. In `forgotten`, the message counts as
 * not delivered: the alert is sent again whenever it was sent last, and its end is still sent.
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

/** Applies the effect of a delivery event to the alerts of the message. Runs inside the caller's transaction. */
function affectMembers(connection: LedgerDb, effect: MemberEffect, moment: MemberMoment): void {
  for (const statement of statements(connection)[effect]) statement.run(moment);
}

/**
 * Decides again about given-up notifications after their channel accepted a message: at once about those that failed
 * for three days, and about rejected ones if they were rejected at least a day ago. The old messages count as refused.
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
