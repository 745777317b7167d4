import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import type { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import { disableChannel } from './channel-states.ts';
import { tellOfDead } from './dead-letters.ts';

type Connection = Database.Database;

/** A notification that waits for delivery. */
export type OutboxRow = Omit<StoredRow, 'nextAttemptAt'> & { nextAttemptAtMs: number };

/** What came of one attempt. */
export interface DeliveryRecord {
  notificationId: string;
  /** `pending`: tried again at `nextAttemptAtMs`. `dead`: given up, kept for replay. */
  state: 'delivered' | 'pending' | 'dead';
  nextAttemptAtMs: number;
  /** Why it was not delivered; null when it was. */
  error: string | null;
  nowMs: number;
  /** Present when the receiver wants nothing more on this channel; the others are told. */
  disable?: { otherChannels: readonly string[] };
  /** Present when the notification is dead for another reason; the other channels are told, once a day. */
  failing?: { otherChannels: readonly string[] };
}

/** The notifications that are still to be delivered, the longest due first. */
export function pendingNotifications(connection: Connection, limit: number): OutboxRow[] {
  return (
    connection
      .prepare(
        `SELECT notification_id AS notificationId, channel, payload, attempts, attempts_before AS attemptsBefore,
           next_attempt_at AS nextAttemptAt
         FROM outbox WHERE state = 'pending' ORDER BY next_attempt_at LIMIT ?`,
      )
      .all(limit) as StoredRow[]
  ).map(toRow);
}

/** One notification, if it is still to be delivered. */
export function pendingNotification(connection: Connection, notificationId: string): OutboxRow | null {
  const row = connection
    .prepare(
      `SELECT notification_id AS notificationId, channel, payload, attempts, attempts_before AS attemptsBefore,
           next_attempt_at AS nextAttemptAt
       FROM outbox WHERE state = 'pending' AND notification_id = ?`,
    )
    .get(notificationId) as StoredRow | undefined;
  return row === undefined ? null : toRow(row);
}

/** Whether anything waits for a digest that is due. */
export function digestsAreDue(connection: Connection, nowMs: number): boolean {
  const due = connection.prepare("SELECT 1 FROM outbox WHERE state = 'held' AND next_attempt_at <= ? LIMIT 1");
  return due.get(isoTime(nowMs)) !== undefined;
}

/**
 * Takes a due notification in hand for `claimMs`; false when it is not due, or another sender has it. A sender that
 * dies leaves the claim to run out, so a notification may arrive twice, under the same id, but is never lost.
 */
export function claimDelivery(
  connection: Connection,
  { notificationId, nowMs, claimMs }: { notificationId: string; nowMs: number; claimMs: number },
): boolean {
  const now = isoTime(nowMs);
  const { changes } = connection
    .prepare(
      `UPDATE outbox SET claimed_until = ?
       WHERE notification_id = ? AND state = 'pending' AND next_attempt_at <= ?
         AND (claimed_until IS NULL OR claimed_until <= ?)`,
    )
    .run(isoTime(nowMs + claimMs), notificationId, now, now);
  return changes === 1;
}

/**
 * Writes down what came of an attempt and lets go of the claim. When the notification is dead, returns those that tell the
 * other channels of it.
 */
export function recordDelivery(connection: Connection, record: DeliveryRecord): string[] {
  return connection
    .transaction(() => {
      connection
        .prepare(
          `UPDATE outbox SET state = ?, attempts = attempts + 1, next_attempt_at = ?, claimed_until = NULL,
             last_error = ?, delivered_at = CASE WHEN ? = 'delivered' THEN ? END
           WHERE notification_id = ? AND state = 'pending'`,
        )
        .run(
          record.state,
          isoTime(record.nextAttemptAtMs),
          record.error,
          record.state,
          isoTime(record.nowMs),
          record.notificationId,
        );
      if (record.disable !== undefined) return disableChannel(connection, record, record.disable.otherChannels);
      return record.failing === undefined ? [] : tellOfDead(connection, record, record.failing.otherChannels);
    })
    .immediate();
}

/** Lets go of a claim whose attempt was cut off: it does not count, and the next sender may take it at once. */
export function releaseDelivery(connection: Connection, { notificationId }: { notificationId: string }): void {
  connection
    .prepare("UPDATE outbox SET claimed_until = NULL WHERE notification_id = ? AND state = 'pending'")
    .run(notificationId);
}

type StoredRow = Pick<
  typeof outbox.$inferSelect,
  'notificationId' | 'channel' | 'payload' | 'attempts' | 'attemptsBefore' | 'nextAttemptAt'
>;

function toRow({ nextAttemptAt, ...row }: StoredRow): OutboxRow {
  return { ...row, nextAttemptAtMs: Date.parse(nextAttemptAt) };
}
