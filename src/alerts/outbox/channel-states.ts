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

export function disabledChannels(connection: LedgerDb): DisabledChannel[] {
  const disabled = query(connection).select().from(channelStates).where(isNotNull(channelStates.disabledAt));
  return disabled
    .orderBy(asc(channelStates.name))
    .all()
    .map(({ name, disabledAt, reason }) => ({ name, disabledAt: disabledAt ?? '', reason: reason ?? '' }));
}

/**
 * Records that a channel is disabled. Its notifications are given up once they become due. Runs inside the caller's
 * transaction.
 */
export function disableChannel(connection: LedgerDb, channel: string, reason: string, nowMs: number): void {
  connection
    .prepare(
      `INSERT INTO channel_states (name, disabled_at, reason) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET disabled_at = excluded.disabled_at, reason = excluded.reason WHERE disabled_at IS NULL`,
    )
    .run(channel, isoTime(nowMs), reason);
}

/** Returns why nothing is sent to a disabled channel. */
export function disabledReason(channel: string, reason: string): string {
  return `channel ${JSON.stringify(channel)} is disabled (${reason})`;
}

/** Returns the largest message, in bytes, that a channel accepts according to earlier refusals. */
export function mostBytesOf(connection: LedgerDb, channel: string): number {
  const state = query(connection).select().from(channelStates).where(eq(channelStates.name, channel)).get();
  return Math.min(state?.mostBytes ?? MAX_BYTES, MAX_BYTES);
}
