import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import type { channelStates, outbox } from '../../ledger/store/schema/outbox-tables.ts';
import { channelDisabledPayload } from '../notify/service-notices.ts';

type Connection = Database.Database;

/** A channel whose receiver wants nothing more. */
export type DisabledChannel = typeof channelStates.$inferSelect;

export function disabledChannels(connection: Connection): DisabledChannel[] {
  return connection
    .prepare('SELECT name, disabled_at AS disabledAt, reason FROM channel_states ORDER BY name')
    .all() as DisabledChannel[];
}

/**
 * Writes down that the channel of this notification is disabled: what waits for it is dead, and a notification for each
 * of the other channels that are not disabled themselves says so. Returns their ids; none when it was disabled already.
 * Runs inside the caller's transaction. What another sender has in hand is left to that sender.
 */
export function disableChannel(
  connection: Connection,
  { notificationId, error, nowMs }: { notificationId: string; error: string | null; nowMs: number },
  otherChannels: readonly string[],
): string[] {
  const now = isoTime(nowMs);
  const reason = error ?? 'the receiver wants nothing more';
  const failed = connection
    .prepare('SELECT alert_key AS alertKey, channel FROM outbox WHERE notification_id = ?')
    .get(notificationId) as Pick<typeof outbox.$inferSelect, 'alertKey' | 'channel'> | undefined;
  if (failed === undefined) return [];
  const { channel, alertKey } = failed;
  const { changes } = connection
    .prepare('INSERT INTO channel_states (name, disabled_at, reason) VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
    .run(channel, now, reason);
  if (changes === 0) return [];
  const dropped = connection
    .prepare(
      `UPDATE outbox SET state = 'dead', claimed_until = NULL, last_error = ?
       WHERE channel = ? AND state IN ('pending', 'held') AND (claimed_until IS NULL OR claimed_until <= ?)`,
    )
    .run(disabledReason(channel, reason), channel, now).changes;
  const disabled = new Set(disabledChannels(connection).map(({ name }) => name));
  const insert = connection.prepare(
    // It stands beside the alert that could not be delivered, if it was one.
    `INSERT INTO outbox (notification_id, alert_key, channel, payload, state, created_at, next_attempt_at)
     VALUES (?, ?, ?, ?, 'pending', ?, ?)`,
  );
  return otherChannels
    .filter((other) => !disabled.has(other))
    .map((other) => {
      const hash = createHash('sha256').update(
        JSON.stringify(['channel.disabled', channel, notificationId, now, other]),
      );
      const id = `msg_${hash.digest('hex').slice(0, 32)}`;
      const payload = channelDisabledPayload({ notificationId: id, channel, reason, disabledAt: now, dropped });
      insert.run(id, alertKey, other, payload, now, now);
      return id;
    });
}

/** Why nothing is sent to a disabled channel. */
export function disabledReason(channel: string, reason: string): string {
  return `channel ${JSON.stringify(channel)} is disabled (${reason})`;
}
