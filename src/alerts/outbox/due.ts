import { isoTime } from '../../core/clock.ts';
import { CLOCK_SLACK_MS } from '../../core/stored-time.ts';
import type { LedgerDb } from '../../ledger/store/ledger-db.ts';
import { preparedSql } from '../../ledger/store/schema/drizzle.ts';

/**
 * Channel name of an alert's row for all channels. For channels without a row of their own, it has what the first sync
 * found. Its `due_at` makes every channel decide again.
 */
export const ALL_CHANNELS = '*';

/**
 * SQL condition for rows that are due. A row that was scheduled while the clock ran ahead is due too. `@at` is now;
 * `@latest` is the latest time that a correct clock can have written.
 */
export const IS_DUE = '(due_at <= @at OR scheduled_at > @latest)';

/** Returns the parameters of `IS_DUE`. */
export function toDueParameters(nowMs: number): { at: string; latest: string } {
  return { at: isoTime(nowMs), latest: isoTime(nowMs + CLOCK_SLACK_MS) };
}

/** Reports whether a notification for one of the channels, or any message that was not tried yet, is due. */
export function isAnythingDue(connection: LedgerDb, channels: readonly string[], nowMs: number): boolean {
  return (
    selectAnyDue(connection).get({
      channels: JSON.stringify([...channels, ALL_CHANNELS]),
      ...toDueParameters(nowMs),
    }) !== undefined
  );
}

const selectAnyDue = preparedSql(`SELECT 1 FROM alert_notified WHERE due_at IS NOT NULL AND ${IS_DUE}
       AND channel IN (SELECT value FROM json_each(@channels))
     UNION ALL SELECT 1 FROM deliveries WHERE due_at IS NOT NULL AND (scheduled_at > @latest OR state = 'fresh') LIMIT 1`);

const selectDue = preparedSql(`SELECT notification_id AS notificationId, channel
     FROM (SELECT *, row_number() OVER (PARTITION BY channel ORDER BY due_at, delivery_key) AS place FROM deliveries
       WHERE due_at IS NOT NULL AND ${IS_DUE}
         AND (state <> 'fresh' OR channel IN (SELECT value FROM json_each(@channels))))
     WHERE place <= @limit ORDER BY due_at, delivery_key`);

/**
 * Returns the messages to try now: those for these channels, and those for other channels that were tried before, whose
 * outcome is unknown. At most `limit` for each channel, those due longest first.
 */
export function findDueDeliveries(
  connection: LedgerDb,
  { channels, limit, nowMs }: { channels: readonly string[]; limit: number; nowMs: number },
): { notificationId: string; channel: string }[] {
  const request = { channels: JSON.stringify(channels), limit, ...toDueParameters(nowMs) };
  return selectDue(connection).all(request) as { notificationId: string; channel: string }[];
}

const selectNext = preparedSql(
  `SELECT min(due_at) FROM (
         SELECT min(due_at) AS due_at FROM deliveries WHERE due_at > @at
         UNION ALL SELECT min(due_at) FROM alert_notified WHERE due_at > @at)`,
  'pluck',
);

/**
 * Returns when the next message or notification becomes due, in milliseconds since the epoch; null if nothing is
 * scheduled.
 */
export function nextDueMs(connection: LedgerDb, nowMs: number): number | null {
  const at = selectNext(connection).get({ at: isoTime(nowMs) }) as string | null;
  return at === null ? null : Date.parse(at);
}
