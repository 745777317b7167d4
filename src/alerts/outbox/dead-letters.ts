import { createHash } from 'node:crypto';
import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { query } from '../../ledger/store/query.ts';
import { and, count, desc, eq, inArray } from '../../ledger/store/schema/drizzle.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import { channelFailingPayload } from '../notify/service-notices.ts';
import { disabledChannels } from './channel-states.ts';
import { insertNotification } from './insert-notification.ts';

/**
 * Tells the other channels that a channel fails: once a day for each, so that a receiver that refuses everything is one piece
 * of news. Returns the notices' ids. Runs inside the caller's transaction.
 */
export function tellOfFailing(
  connection: Database.Database,
  { notificationId, error, nowMs }: { notificationId: string; error: string | null; nowMs: number },
  otherChannels: readonly string[],
): string[] {
  const now = isoTime(nowMs);
  const db = query(connection);
  const channel = db.select().from(outbox).where(eq(outbox.notificationId, notificationId)).get()?.channel;
  const disabled = new Set(disabledChannels(connection).map(({ name }) => name));
  if (channel === undefined || disabled.has(channel)) return [];
  const isLeft = and(inArray(outbox.state, ['dead', 'pending']).inlineParams(), eq(outbox.channel, channel));
  const undelivered = db.select({ count: count() }).from(outbox).where(isLeft).get()?.count ?? 0;
  const last = db
    .select({ payload: outbox.payload })
    .from(outbox)
    .where(isLeft)
    .orderBy(desc(outbox.createdAt))
    .limit(1)
    .get();
  const newest = last === undefined ? null : summaryOf(last.payload);
  return otherChannels
    .filter((other) => !disabled.has(other))
    .flatMap((other) => {
      const key = JSON.stringify(['channel.failing', channel, now.slice(0, 10), other]);
      const id = `msg_${createHash('sha256').update(key).digest('hex').slice(0, 32)}`;
      const reason = error ?? 'it was refused';
      const payload = channelFailingPayload({ notificationId: id, channel, reason, at: now, undelivered, newest });
      const insert = insertNotification(connection, { notificationId: id, channel: other, payload, createdAt: now });
      return insert.onConflictDoNothing().run().changes === 1 ? [id] : [];
    });
}

function summaryOf(payload: string): string | null {
  const { summary } = JSON.parse(payload) as { summary?: unknown };
  return typeof summary === 'string' ? summary : null;
}
