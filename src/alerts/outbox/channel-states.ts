import { isoTime } from '../../core/clock.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { channelStates } from '../../ledger/store/schema/delivery-tables.ts';
import { asc, eq, isNotNull, query } from '../../ledger/store/schema/drizzle.ts';
import { MAX_BYTES } from '../messages/message-parts.ts';

/** A channel that its receiver has disabled. */
export interface DisabledChannel {
  name: string;
  disabledAt: string;
  reason: string;
}

/** Returns the disabled channels, by name. */
export function findDisabledChannels(connection: LedgerDb): DisabledChannel[] {
  const disabled = query(connection).select().from(channelStates).where(isNotNull(channelStates.disabledAt));
  return disabled
    .orderBy(asc(channelStates.name))
    .all()
    .map(({ name, disabledAt, reason }) => ({ name, disabledAt: disabledAt ?? '', reason: reason ?? '' }));
}

/**
 * Records that a channel is disabled. Each of its notifications is given up when it becomes due. Runs inside the
 * caller's transaction.
 */
export function disableChannel(connection: LedgerDb, channel: string, reason: string, nowMs: number): void {
  connection
    .prepare(
      `INSERT INTO channel_states (name, disabled_at, reason) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET disabled_at = excluded.disabled_at, reason = excluded.reason WHERE disabled_at IS NULL`,
    )
    .run(channel, isoTime(nowMs), reason);
}

/** Returns the sentence that says that a channel is disabled, and why. */
export function describeDisabledChannel(channel: string, reason: string): string {
  return `channel ${JSON.stringify(channel)} is disabled (${reason})`;
}

/** Returns the size, in bytes, of the largest message to send to a channel. Refusals of larger ones have lowered it. */
export function maxMessageBytes(connection: LedgerDb, channel: string): number {
  const state = query(connection).select().from(channelStates).where(eq(channelStates.name, channel)).get();
  return Math.min(state?.mostBytes ?? MAX_BYTES, MAX_BYTES);
}
