import type Database from 'better-sqlite3';
import { query } from '../../ledger/store/query.ts';
import { alerts, alertTold } from '../../ledger/store/schema/alert-tables.ts';
import { and, eq, inArray, isNotNull, lte, or, sql } from '../../ledger/store/schema/drizzle.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';

/** What a message says of alerts: by itself, or by those that it carries. */
function isSaidBy(notificationId: string) {
  const isOfMessage = or(eq(outbox.notificationId, notificationId), eq(outbox.digestId, notificationId));
  return and(isOfMessage, isNotNull(outbox.event));
}

/**
 * A receiver has a message, or may have: that is what it was told of its alerts. The limit of a day counts from beginnings
 * and growth, so an end leaves their time as it is.
 */
export function acceptTold(connection: Database.Database, notificationId: string, at: string): void {
  const db = query(connection);
  const { alertKey, channel, event, episode, level, toldTimes, measure, digestAt, revision } = outbox;
  const said = {
    alertKey,
    channel,
    event,
    episode,
    level,
    toldTimes,
    measure,
    open: sql`${event} <> 'closed'`.as('open'),
    at: sql`${at}`.as('at'),
    atOnce: sql`${digestAt} IS NULL`.as('at_once'),
    revision,
  };
  const isBeginning = sql`excluded.open`;
  db.insert(alertTold)
    // Only what has no event is null in the outbox, and that is left out.
    .select(db.select(said).from(outbox).where(isSaidBy(notificationId)) as never)
    .onConflictDoUpdate({
      target: [alertTold.alertKey, alertTold.channel],
      set: {
        event: sql`excluded.event`,
        episode: sql`excluded.episode`,
        level: sql`excluded.level`,
        toldTimes: sql`excluded.told_times`,
        measure: sql`excluded.measure`,
        open: sql`excluded.open`,
        at: sql`iif(${isBeginning}, excluded.at, ${alertTold.at})`,
        atOnce: sql`iif(${isBeginning}, excluded.at_once, ${alertTold.atOnce})`,
        revision: sql`excluded.revision`,
      },
      setWhere: sql`excluded.revision > ${alertTold.revision}`,
    })
    .run();
}

/** Has the alerts of a message asked for as soon as somebody looks: what is so may be otherwise by now. */
export function askAgain(connection: Database.Database, notificationId: string, at: string): void {
  const db = query(connection);
  const said = db.select({ alertKey: outbox.alertKey }).from(outbox).where(isSaidBy(notificationId));
  db.update(alerts).set({ askAt: at, askedAt: at }).where(inArray(alerts.alertKey, said)).run();
}

/** Counts what is due, and what a daily summary holds, as accepted: what a receiver that is always there would have been told. */
export function acceptAll(connection: Database.Database, at: string): void {
  const db = query(connection);
  const isDue = and(eq(outbox.state, 'pending').inlineParams(), lte(outbox.nextAttemptAt, at));
  const waits = or(isDue, eq(outbox.state, 'held').inlineParams());
  const ids = db.select({ notificationId: outbox.notificationId }).from(outbox).where(waits).all();
  for (const { notificationId } of ids) acceptTold(connection, notificationId, at);
  db.update(outbox).set({ state: 'delivered', deliveredAt: at }).where(waits).run();
}
