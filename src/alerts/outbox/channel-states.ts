import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { query } from '../../ledger/store/query.ts';
import { and, asc, eq, inArray, isNull, lte, or } from '../../ledger/store/schema/drizzle.ts';
import { channelStates, outbox } from '../../ledger/store/schema/outbox-tables.ts';

type Connection = Database.Database;

/** A channel whose receiver wants nothing more. */
export type DisabledChannel = typeof channelStates.$inferSelect;

export function disabledChannels(connection: Connection): DisabledChannel[] {
  return query(connection).select().from(channelStates).orderBy(asc(channelStates.name)).all();
}

/**
 * Writes down that a channel is disabled: what waits for it is dead, but for what another sender has in hand. Runs inside the
 * caller's transaction.
 */
export function disableChannel(connection: Connection, channel: string, reason: string, nowMs: number): void {
  const now = isoTime(nowMs);
  const db = query(connection);
  const state = db.insert(channelStates).values({ name: channel, disabledAt: now, reason });
  if (state.onConflictDoNothing().run().changes === 0) return;
  const waits = inArray(outbox.state, ['pending', 'held']);
  const isFree = or(isNull(outbox.claimedUntil), lte(outbox.claimedUntil, now));
  db.update(outbox)
    .set({ state: 'dead', claimedUntil: null, lastError: disabledReason(channel, reason) })
    .where(and(eq(outbox.channel, channel), waits, isFree))
    .run();
}

/** Why nothing is sent to a disabled channel. */
export function disabledReason(channel: string, reason: string): string {
  return `channel ${JSON.stringify(channel)} is disabled (${reason})`;
}
