import type Database from 'better-sqlite3';

/** What a message says of alerts: by itself, or by those that it carries. */
const SAID = '(notification_id = @notificationId OR digest_id = @notificationId) AND event IS NOT NULL';

/**
 * A receiver has a message, or may have: that is what it was told of its alerts. The limit of a day counts from beginnings
 * and growth, so an end leaves their time as it is.
 */
export function acceptTold(connection: Database.Database, notificationId: string, at: string): void {
  connection
    .prepare(
      `INSERT INTO alert_told (alert_key, channel, event, episode, stage, level, measure, open, at, at_once, revision)
       SELECT alert_key, channel, event, episode, stage, level, measure, event <> 'closed', @at, digest_at IS NULL, revision
       FROM outbox WHERE ${SAID}
       ON CONFLICT (alert_key, channel) DO UPDATE SET event = excluded.event, episode = excluded.episode,
         stage = excluded.stage, level = excluded.level, measure = excluded.measure, open = excluded.open,
         at = iif(excluded.open, excluded.at, alert_told.at),
         at_once = iif(excluded.open, excluded.at_once, alert_told.at_once),
         revision = excluded.revision
       WHERE excluded.revision > alert_told.revision`,
    )
    .run({ notificationId, at });
}

/** Has the alerts of a message asked for as soon as somebody looks: what is so may be otherwise by now. */
export function askAgain(connection: Database.Database, notificationId: string, at: string): void {
  connection
    .prepare(
      `UPDATE alerts SET ask_at = @at, asked_at = @at WHERE alert_key IN (SELECT alert_key FROM outbox WHERE ${SAID})`,
    )
    .run({ notificationId, at });
}

/** Counts all that waits as accepted at once: what a receiver that is always there would have been told. */
export function acceptAll(connection: Database.Database, at: string): void {
  const waiting = "state IN ('pending', 'held')";
  const ids = connection.prepare(`SELECT notification_id FROM outbox WHERE ${waiting}`).pluck().all() as string[];
  for (const id of ids) acceptTold(connection, id, at);
  connection.prepare(`UPDATE outbox SET state = 'delivered', delivered_at = ? WHERE ${waiting}`).run(at);
}
