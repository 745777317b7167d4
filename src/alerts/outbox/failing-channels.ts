import type Database from 'better-sqlite3';

/** A channel whose latest message failed, for at least one recipient. */
export interface FailingChannel {
  name: string;
  /** The fault and its remedy, from the last attempt. */
  reason: string;
  /** When the next waiting message is tried, ISO-8601; null if none waits. */
  nextAttemptAt: string | null;
}

/**
 * Returns the channels, among those named, whose latest message failed. A channel whose latest message was given up is
 * left out.
 */
export function findFailingChannels(connection: Database.Database, names: readonly string[]): FailingChannel[] {
  const latest = connection.prepare(
    `SELECT last_error AS reason, state FROM deliveries WHERE channel = ? AND attempts > 0
     ORDER BY delivery_key DESC LIMIT 1`,
  );
  const next = connection
    .prepare(
      `SELECT min(due_at) FROM (
         SELECT due_at FROM alert_notified
           WHERE channel = @channel AND pending IS NOT NULL AND given_up = 0 AND failures > 0
         UNION ALL SELECT due_at FROM deliveries WHERE channel = @channel AND due_at IS NOT NULL AND failures > 0)`,
    )
    .pluck();
  return names.flatMap((channel) => {
    const found = latest.get(channel) as { reason: string | null; state: string } | undefined;
    if (found === undefined || found.reason === null || found.state === 'dead') return [];
    return [{ name: channel, reason: found.reason, nextAttemptAt: (next.get({ channel }) as string | null) ?? null }];
  });
}
