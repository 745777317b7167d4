import type Database from 'better-sqlite3';
import { isoTime } from '../../../core/clock.ts';
import { headOfChain } from '../../../ledger/journal/runs/digest.ts';
import { buildDigests, type HeldNotification } from './digest.ts';

type Connection = Database.Database;

interface HeldRow extends HeldNotification {
  channel: string;
  nextAttemptAt: string;
}

/**
 * Makes one digest a channel of all that waits for one that is due, in one transaction: what is in it is marked, so of
 * two daemons only one makes it, and a crash leaves either all or nothing to be made. From then on a digest is a
 * notification like any other. Returns their ids.
 */
export function composeDigests(connection: Connection, nowMs: number): string[] {
  const createdAt = isoTime(nowMs);
  return connection
    .transaction(() => {
      const head = headOfChain(connection);
      const rows = connection
        .prepare(
          `SELECT o.notification_id AS notificationId, a.alert_id AS alertId, o.channel, o.payload,
             o.next_attempt_at AS nextAttemptAt
           FROM outbox o JOIN alerts a USING (alert_key)
           WHERE o.state = 'held' AND o.next_attempt_at <= ? ORDER BY o.alert_key, o.revision`,
        )
        .all(createdAt) as HeldRow[];
      const insert = connection.prepare(
        `INSERT INTO outbox (notification_id, channel, payload, state, created_at, next_attempt_at)
         VALUES (?, ?, ?, 'pending', ?, ?)`,
      );
      const mark = connection.prepare(
        "UPDATE outbox SET state = 'digested', digest_id = ? WHERE notification_id = ? AND state = 'held'",
      );
      return [...byChannel(rows)].flatMap(([channel, held]) => {
        // Several hours may have been missed; the message says which one it stands for.
        const dueAt = held.reduce((latest, row) => (row.nextAttemptAt > latest ? row.nextAttemptAt : latest), '');
        return buildDigests(held, { channel, dueAt, createdAt, head }).map(({ notificationId, members, payload }) => {
          insert.run(notificationId, channel, payload, createdAt, createdAt);
          for (const member of members) mark.run(notificationId, member);
          return notificationId;
        });
      });
    })
    .immediate();
}

function byChannel(rows: readonly HeldRow[]): Map<string, HeldRow[]> {
  const channels = new Map<string, HeldRow[]>();
  for (const row of rows) {
    const held = channels.get(row.channel) ?? [];
    held.push(row);
    channels.set(row.channel, held);
  }
  return channels;
}
