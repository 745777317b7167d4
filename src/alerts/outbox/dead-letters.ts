import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { channelFailingPayload } from '../notify/service-notices.ts';
import { disabledChannels } from './channel-states.ts';

/**
 * Tells the other channels that a notification of a channel is dead: once a day for each channel that loses some, so that
 * a receiver that refuses everything is one piece of news. Returns the notices' ids. Runs inside the caller's transaction.
 */
export function tellOfDead(
  connection: Database.Database,
  { notificationId, error, nowMs }: { notificationId: string; error: string | null; nowMs: number },
  otherChannels: readonly string[],
): string[] {
  const now = isoTime(nowMs);
  const channel = connection
    .prepare('SELECT channel FROM outbox WHERE notification_id = ?')
    .pluck()
    .get(notificationId) as string | undefined;
  const disabled = new Set(disabledChannels(connection).map(({ name }) => name));
  if (channel === undefined || disabled.has(channel)) return [];
  const dead = connection
    .prepare("SELECT count(*) FROM outbox WHERE state = 'dead' AND channel = ?")
    .pluck()
    .get(channel) as number;
  const insert = connection.prepare(
    `INSERT INTO outbox (notification_id, channel, payload, state, created_at, next_attempt_at)
     VALUES (?, ?, ?, 'pending', ?, ?) ON CONFLICT DO NOTHING`,
  );
  return otherChannels
    .filter((other) => !disabled.has(other))
    .flatMap((other) => {
      const key = JSON.stringify(['channel.failing', channel, now.slice(0, 10), other]);
      const id = `msg_${createHash('sha256').update(key).digest('hex').slice(0, 32)}`;
      const reason = error ?? 'it was refused';
      const payload = channelFailingPayload({ notificationId: id, channel, reason, at: now, dead });
      return insert.run(id, other, payload, now, now).changes === 1 ? [id] : [];
    });
}
