import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { perConnection } from '../../ledger/store/schema/drizzle.ts';
import type { MemberEffect } from './delivery-states.ts';

type Connection = Database.Database;

const DAY_MS = 86_400_000;

export interface MemberMoment {
  deliveryKey: number;
  now: string;
  dueAt: string;
  /** Attempts in a row that were refused; null: as many as before. */
  failures: number | null;
}

/** Asked for anew at `@now`. */
const ASKED = 'due_at = @now, due_set_at = @now';
const IS_MEMBER = `(alert_key, channel) IN (SELECT m.alert_key, d.channel FROM delivery_members m
  JOIN deliveries d USING (delivery_key) WHERE m.delivery_key = @deliveryKey)`;
/** What the channel was told last is what the message says. */
const IS_TOLD_BY = `EXISTS (SELECT 1 FROM delivery_members m WHERE m.delivery_key = @deliveryKey
  AND m.alert_key = n.alert_key AND (m.event, m.episode, m.level, m.told_times) = (n.event, n.episode, n.level, n.told_times))`;

/**
 * `notified`: the limit of a day counts from beginnings and growth, so an end leaves their time as it is. `forgotten`: what the
 * channel may have been told by the message counts as not told, and nothing waits for a day because of it; an end is told all
 * the same.
 */
const EFFECTS: Record<MemberEffect, readonly string[]> = {
  notified: [
    `UPDATE alert_notified AS n SET event = m.event, episode = m.episode, level = m.level, told_times = m.told_times,
       measure = m.measure, open = m.event <> 'closed', at = iif(m.event <> 'closed' OR n.at IS NULL, @now, n.at),
       at_once = iif(m.event <> 'closed' OR n.at_once IS NULL, d.form <> 'digest', n.at_once),
       owed = NULL, owed_at = NULL, goes_with = NULL, failures = 0, given_up = 0, delivery_key = NULL, ${ASKED}
     FROM delivery_members m JOIN deliveries d USING (delivery_key)
     WHERE n.delivery_key = @deliveryKey AND m.delivery_key = n.delivery_key AND m.alert_key = n.alert_key`,
  ],
  freed: [
    `UPDATE alert_notified SET delivery_key = NULL, due_at = @dueAt, due_set_at = @now, failures = coalesce(@failures, failures)
     WHERE delivery_key = @deliveryKey`,
  ],
  given_up: [
    `UPDATE alert_notified SET delivery_key = NULL, given_up = 1, due_at = NULL, due_set_at = @now,
       failures = coalesce(@failures, failures) WHERE delivery_key = @deliveryKey`,
  ],
  forgotten: [
    `UPDATE alert_notified SET given_up = 0, failures = 0, ${ASKED} WHERE ${IS_MEMBER} AND delivery_key IS NULL`,
    `UPDATE alert_notified AS n SET episode = episode - iif(event = 'closed', 0, 1), open = 1, at_once = 0
     WHERE ${IS_MEMBER} AND ${IS_TOLD_BY}`,
  ],
  dropped: [
    `UPDATE alert_notified SET delivery_key = NULL, owed = NULL, owed_at = NULL, goes_with = NULL, due_at = NULL,
       due_set_at = NULL, failures = 0, given_up = 0 WHERE delivery_key = @deliveryKey`,
  ],
};

const statements = perConnection((connection) => {
  const prepared = Object.entries(EFFECTS).map(([effect, all]) => [effect, all.map((one) => connection.prepare(one))]);
  return Object.fromEntries(prepared) as Record<MemberEffect, Database.Statement[]>;
});

/** What becomes of the members of a message. Runs inside the caller's transaction. */
export function affectMembers(connection: Connection, effect: MemberEffect, moment: MemberMoment): void {
  for (const statement of statements(connection)[effect]) statement.run(moment);
}

/**
 * A channel has taken something: what was given up after three days is asked for anew, and after a day what it rejected. The
 * messages that were given up stand for nothing any more.
 */
export function freeGivenUp(connection: Connection, channel: string, nowMs: number): void {
  const moment = { channel, now: isoTime(nowMs), before: isoTime(nowMs - DAY_MS) };
  const isFreed =
    'n.channel = @channel AND n.given_up = 1 AND n.owed IS NOT NULL AND (n.failures > 0 OR n.due_set_at <= @before)';
  connection
    .prepare(
      `UPDATE deliveries SET state = 'refused' WHERE state = 'dead' AND channel = @channel AND delivery_key IN (
         SELECT m.delivery_key FROM alert_notified n JOIN delivery_members m USING (alert_key)
         WHERE ${isFreed} AND m.revision = n.revision)`,
    )
    .run({ channel: moment.channel, before: moment.before });
  connection
    .prepare(`UPDATE alert_notified AS n SET given_up = 0, failures = 0, ${ASKED} WHERE ${isFreed}`)
    .run(moment);
}
