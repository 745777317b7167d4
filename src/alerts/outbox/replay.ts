import { isoTime } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { deliveries } from '../../ledger/store/schema/delivery-tables.ts';
import { asc, eq, query } from '../../ledger/store/schema/drizzle.ts';
import type { SqlRow } from '../../ledger/store/schema/rows.ts';
import type { NotifyOptions } from '../pipeline/route.ts';
import { applyDeliveryEvent } from './deliveries.ts';
import { decideDueNotifications } from './evaluate-due.ts';

/** A message that was given up. */
export type DeadLetter = Pick<
  SqlRow<typeof deliveries>,
  'notification_id' | 'channel' | 'attempts' | 'created_at' | 'last_error'
>;

/** A request to send messages that were given up once more. */
export interface ReplayRequest {
  nowMs: number;
  /**
   * The dead messages; null means all of them, and that failed messages are retried at once. Messages of channels that
   * are not configured stay dead.
   */
  notificationIds: readonly string[] | null;
}

export interface ReplayReport {
  /** The messages whose alerts are sent again. */
  replayed: DeadLetter[];
  /** The messages whose alerts need no notification any more. */
  dropped: DeadLetter[];
  /** The number of failed notifications that are retried now instead of after their back-off. */
  retried: number;
  /** The channels that were disabled and are enabled again. */
  enabled: string[];
  /** The messages that stay dead, because their channels are not configured. */
  without_channel: DeadLetter[];
}

const LETTER = {
  notification_id: deliveries.notificationId,
  channel: deliveries.channel,
  attempts: deliveries.attempts,
  created_at: deliveries.createdAt,
  last_error: deliveries.lastError,
};

/** Returns the messages that were given up, oldest first. */
export function findDeadLetters(connection: LedgerDb): DeadLetter[] {
  return selectDead(connection).map(({ letter }) => letter);
}

/**
 * Enables the channels of dead messages and decides again about their alerts. Alerts that still hold are sent in new
 * messages. Throws `not_dead`, and changes nothing, if an id is not that of a dead message.
 */
export function replayDead(
  connection: LedgerDb,
  { notificationIds, ...notifying }: ReplayRequest & NotifyOptions,
): ReplayReport {
  return connection
    .transaction(() => {
      const now = isoTime(notifying.nowMs);
      const names = notifying.routes.map(({ channel }) => channel);
      const dead = selectDead(connection);
      const known = new Set(dead.map(({ letter }) => letter.notification_id));
      const unknown = (notificationIds ?? []).filter((id) => !known.has(id));
      if (unknown.length > 0) {
        throw new AppError('not_dead', `no message that was given up has the id ${unknown.join(', ')}`, {
          hint: 'list the messages that were given up with `usage-ledger alerts replay`',
        });
      }
      const chosen = dead.filter(({ letter }) => notificationIds?.includes(letter.notification_id) ?? true);
      const [wanted, others] = [true, false].map((isServed) =>
        chosen.filter(({ letter }) => names.includes(letter.channel) === isServed),
      ) as [typeof chosen, typeof chosen];
      const enabled = enable(connection, notificationIds === null ? names : wanted.map(({ letter }) => letter.channel));
      const retried = notificationIds === null ? retryNow(connection, names, now) : 0;
      for (const { deliveryKey } of wanted)
        applyDeliveryEvent(connection, { deliveryKey, state: 'dead' }, 'replay', now);
      decideDueNotifications(connection, notifying, names);
      const isPending = ({ deliveryKey }: (typeof wanted)[number]): boolean => ownedBy(connection, deliveryKey);
      return {
        replayed: wanted.filter(isPending).map(({ letter }) => letter),
        dropped: wanted.filter((one) => !isPending(one)).map(({ letter }) => letter),
        retried,
        enabled,
        without_channel: others.map(({ letter }) => letter),
      };
    })
    .immediate();
}

function selectDead(connection: LedgerDb): { deliveryKey: number; letter: DeadLetter }[] {
  const { deliveryKey, createdAt } = deliveries;
  return query(connection)
    .select({ deliveryKey, letter: LETTER })
    .from(deliveries)
    .where(eq(deliveries.state, 'dead').inlineParams())
    .orderBy(asc(createdAt), asc(deliveryKey))
    .all();
}

/** Enables channels again; returns those that were disabled. */
function enable(connection: LedgerDb, channels: readonly string[]): string[] {
  const forget = connection.prepare(
    'DELETE FROM channel_states WHERE name IN (SELECT value FROM json_each(?)) RETURNING name, disabled_at',
  );
  const known = forget.all(JSON.stringify(channels)) as { name: string; disabled_at: string | null }[];
  return known.filter((state) => state.disabled_at !== null).map(({ name }) => name);
}

/** Retries failed notifications now instead of after their back-off of up to six hours, for three more days. */
function retryNow(connection: LedgerDb, channels: readonly string[], now: string): number {
  const isOwn = 'failures > 0 AND due_at IS NOT NULL AND channel IN (SELECT value FROM json_each(@channels))';
  const request = { now, channels: JSON.stringify(channels) };
  const [free, possible] = [
    `UPDATE alert_notified SET due_at = @now, scheduled_at = @now, failures = 0 WHERE ${isOwn}`,
    // A wait of at most a minute is a sender's claim, which is not touched: the message is being sent.
    `UPDATE deliveries SET due_at = @now, scheduled_at = @now, failures = 0
     WHERE ${isOwn} AND state = 'possible' AND julianday(due_at) - julianday(scheduled_at) > 60.5 / 86400`,
  ].map((statement) => connection.prepare(statement).run(request).changes);
  return (free ?? 0) + (possible ?? 0);
}

function ownedBy(connection: LedgerDb, deliveryKey: number): boolean {
  return (
    connection
      .prepare(
        `SELECT 1 FROM deliveries d JOIN delivery_members m USING (delivery_key)
         JOIN alert_notified n ON n.alert_key = m.alert_key AND n.channel = d.channel
         WHERE d.delivery_key = ? AND (n.pending IS NOT NULL OR n.delivery_key IS NOT NULL)`,
      )
      .get(deliveryKey) !== undefined
  );
}
