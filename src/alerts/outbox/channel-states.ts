import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { query } from '../../ledger/store/query.ts';
import { and, asc, eq, inArray, isNull, lte, or } from '../../ledger/store/schema/drizzle.ts';
import { channelStates, outbox } from '../../ledger/store/schema/outbox-tables.ts';
import { channelDisabledPayload } from '../notify/service-notices.ts';
import { insertNotification } from './insert-notification.ts';

type Connection = Database.Database;

/** A channel whose receiver wants nothing more. */
export type DisabledChannel = typeof channelStates.$inferSelect;

export function disabledChannels(connection: Connection): DisabledChannel[] {
  return query(connection).select().from(channelStates).orderBy(asc(channelStates.name)).all();
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
  const db = query(connection);
  const failed = db.select().from(outbox).where(eq(outbox.notificationId, notificationId)).get();
  if (failed === undefined) return [];
  const { channel, alertKey } = failed;
  const state = db.insert(channelStates).values({ name: channel, disabledAt: now, reason });
  if (state.onConflictDoNothing().run().changes === 0) return [];
  const waits = inArray(outbox.state, ['pending', 'held']);
  const isFree = or(isNull(outbox.claimedUntil), lte(outbox.claimedUntil, now));
  const { changes: dropped } = db
    .update(outbox)
    .set({ state: 'dead', claimedUntil: null, lastError: disabledReason(channel, reason) })
    .where(and(eq(outbox.channel, channel), waits, isFree))
    .run();
  const disabled = new Set(disabledChannels(connection).map(({ name }) => name));
  return otherChannels
    .filter((other) => !disabled.has(other))
    .map((other) => {
      const hash = createHash('sha256').update(
        JSON.stringify(['channel.disabled', channel, notificationId, now, other]),
      );
      const id = `msg_${hash.digest('hex').slice(0, 32)}`;
      const payload = channelDisabledPayload({ notificationId: id, channel, reason, disabledAt: now, dropped });
      // It stands beside the alert that could not be delivered, if it was one.
      insertNotification(connection, { notificationId: id, alertKey, channel: other, payload, createdAt: now }).run();
      return id;
    });
}

/** Why nothing is sent to a disabled channel. */
export function disabledReason(channel: string, reason: string): string {
  return `channel ${JSON.stringify(channel)} is disabled (${reason})`;
}
