import type Database from 'better-sqlite3';
import { counted } from '../../core/text/counted.ts';
import { query } from '../../ledger/store/query.ts';
import { alerts } from '../../ledger/store/schema/alert-tables.ts';
import { and, count, desc, eq, inArray, isNull, sql } from '../../ledger/store/schema/drizzle.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import { evaluateJob } from '../evaluate/evaluate-self.ts';
import { isOpenAlert } from '../track/alert-rows.ts';
import { currentRoutes } from '../track/routes.ts';

/** Begins the cause of an alert about a channel. */
const OF_CHANNEL = 'channel:';

/**
 * Raises the alert about a channel that fails, for the reason given, or with null ends it; returns the notifications that go
 * to the others. Runs inside the caller's transaction.
 */
export function tellOfChannel(
  connection: Database.Database,
  { channel, reason }: { channel: string; reason: string | null },
  nowMs: number,
): string[] {
  const detail = reason === null ? null : `${reason.replace(/\.$/, '')}.${undelivered(connection, channel)}`;
  return evaluateJob(connection, { job: 'channel', of: channel, detail }, nowMs).notificationIds;
}

/** Ends the alerts about channels that are not configured: nobody would find that they work again. */
export function endFaultsOfOthers(connection: Database.Database, nowMs: number): void {
  const names = currentRoutes(connection).map(({ channel }) => channel);
  const found = query(connection)
    .select({ cause: alerts.cause })
    .from(alerts)
    .where(and(isOpenAlert, isNull(alerts.workspaceKey), sql`${alerts.cause} LIKE ${`${OF_CHANNEL}%`}`))
    .all();
  for (const { cause } of found) {
    const channel = String(cause).slice(OF_CHANNEL.length);
    if (!names.includes(channel)) tellOfChannel(connection, { channel, reason: null }, nowMs);
  }
}

/** How much it has not delivered, and the newest of that. */
function undelivered(connection: Database.Database, channel: string): string {
  const isLeft = and(inArray(outbox.state, ['dead', 'pending']).inlineParams(), eq(outbox.channel, channel));
  const left = query(connection).select({ count: count() }).from(outbox).where(isLeft).get()?.count ?? 0;
  const byAge = query(connection).select({ payload: outbox.payload }).from(outbox).where(isLeft);
  const newest = byAge.orderBy(desc(outbox.createdAt)).limit(1).get();
  if (newest === undefined) return '';
  const { summary } = JSON.parse(newest.payload) as { summary?: unknown };
  return ` ${counted(left, 'alert was', 'alerts were')} not delivered; the newest is "${String(summary).replace(/\.$/, '')}"`;
}
