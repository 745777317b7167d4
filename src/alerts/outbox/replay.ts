import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import { query } from '../../ledger/store/query.ts';
import { alertTold } from '../../ledger/store/schema/alert-tables.ts';
import { and, asc, eq, gt, inArray, isNotNull, isNull, lte, or, sql } from '../../ledger/store/schema/drizzle.ts';
import { channelStates, outbox } from '../../ledger/store/schema/outbox-tables.ts';
import type { SqlRow } from '../../ledger/store/schema/rows.ts';
import { askNow } from '../book/ask.ts';
import { latestMessages, stateOfWaiting } from '../tell/messages.ts';
import { currentRoutes } from '../track/routes.ts';
import { askAgain } from './told-by.ts';

type Connection = Database.Database;

/** A notification that was given up. */
export type DeadLetter = Pick<
  SqlRow<typeof outbox>,
  'notification_id' | 'channel' | 'attempts' | 'created_at' | 'last_error'
>;

export interface ReplayRequest {
  nowMs: number;
  /**
   * Null: all that are dead, and what failed and waits for its next try. What is dead for channels that are not configured
   * stays dead.
   */
  notificationIds: readonly string[] | null;
}

export interface ReplayReport {
  /** Due again, or replaced by what is so now. */
  replayed: DeadLetter[];
  /** Of these there is nothing left to say. */
  dropped: DeadLetter[];
  /** Disabled channels that are used again. */
  enabled: string[];
  /** Dead ones for channels that are not configured, which stay dead. */
  without_channel: DeadLetter[];
}

const LETTER = {
  notification_id: outbox.notificationId,
  channel: outbox.channel,
  attempts: outbox.attempts,
  created_at: outbox.createdAt,
  last_error: outbox.lastError,
};

export function deadLetters(connection: Connection): DeadLetter[] {
  const { notificationId, createdAt } = outbox;
  return query(connection)
    .select(LETTER)
    .from(outbox)
    .where(eq(outbox.state, 'dead').inlineParams())
    .orderBy(asc(createdAt), asc(notificationId))
    .all();
}

/**
 * Makes dead notifications due again and enables their channels. What they said of alerts is asked for anew: what is still so
 * goes under the same id, what is otherwise by now is said as it is, and of what has passed nothing is left to say. Raises
 * `not_dead` and changes nothing when one of the ids is not that of a dead notification.
 */
export function replayDead(connection: Connection, { notificationIds, nowMs }: ReplayRequest): ReplayReport {
  return connection
    .transaction(() => {
      const names = currentRoutes(connection).map(({ channel }) => channel);
      const dead = deadLetters(connection);
      const known = new Set(dead.map((letter) => letter.notification_id));
      const unknown = (notificationIds ?? []).filter((id) => !known.has(id));
      if (unknown.length > 0) {
        throw new AppError('not_dead', `no dead notification has the id ${unknown.join(', ')}`, {
          hint: 'run `usage-ledger alerts replay` without arguments for a list of those that have',
        });
      }
      const chosen =
        notificationIds === null ? dead : dead.filter((letter) => notificationIds.includes(letter.notification_id));
      const wanted = chosen.filter((letter) => names.includes(letter.channel));
      const enabled = [...new Set(wanted.map((letter) => letter.channel))].filter(
        (name) => query(connection).delete(channelStates).where(eq(channelStates.name, name)).run().changes > 0,
      );
      const now = isoTime(nowMs);
      const hurried = notificationIds === null ? hurry(connection, names, now) : [];
      const said = new Map(wanted.map((letter) => [letter, revive(connection, letter.notification_id, now)]));
      askNow(connection, nowMs);
      const isGone = (letter: DeadLetter) => {
        const alertKeys = said.get(letter) ?? [];
        return alertKeys.length > 0 && !alertKeys.some((key) => isWaiting(connection, key, letter));
      };
      return {
        replayed: [...hurried, ...wanted.filter((letter) => !isGone(letter))],
        dropped: wanted.filter(isGone),
        enabled,
        without_channel: chosen.filter((letter) => !names.includes(letter.channel)),
      };
    })
    .immediate();
}

/** What failed at these channels and waits, up to six hours for its next try, is due now, and its three days begin anew. */
function hurry(connection: Connection, names: readonly string[], now: string): DeadLetter[] {
  const hasFailed = gt(outbox.attempts, outbox.attemptsBefore);
  const isFree = or(isNull(outbox.claimedUntil), lte(outbox.claimedUntil, now));
  return query(connection)
    .update(outbox)
    .set({ nextAttemptAt: now, claimedUntil: now, attemptsBefore: sql`${outbox.attempts}` })
    .where(and(eq(outbox.state, 'pending').inlineParams(), inArray(outbox.channel, [...names]), hasFailed, isFree))
    .returning(LETTER)
    .all();
}

/**
 * Has a dead notification wait again, or those that it carried, which go by themselves or with another one. What may have been
 * told by it counts as not told, and nothing waits for a day because of it; an end is told all the same. Returns the alerts that it
 * said something of.
 */
function revive(connection: Connection, notificationId: string, now: string): number[] {
  const db = query(connection);
  const isSelf = eq(outbox.notificationId, notificationId);
  const isCarried = eq(outbox.digestId, notificationId);
  const isSaid = or(isSelf, isCarried);
  const said = db
    .select({ alertKey: outbox.alertKey })
    .from(outbox)
    .where(and(isSaid, isNotNull(outbox.event)))
    .all();
  db.update(alertTold)
    .set({ episode: sql`${alertTold.episode} - iif(${outbox.event} = 'closed', 0, 1)`, open: 1, atOnce: 0 })
    .from(outbox)
    .where(
      and(
        isSaid,
        eq(outbox.alertKey, alertTold.alertKey),
        eq(outbox.channel, alertTold.channel),
        eq(outbox.revision, alertTold.revision),
      ),
    )
    .run();
  askAgain(connection, notificationId, now);
  db.update(outbox)
    .set({
      state: stateOfWaiting,
      nextAttemptAt: now,
      claimedUntil: now,
      attemptsBefore: sql`${outbox.attempts}`,
      unknownAttempts: 0,
    })
    .where(isSaid)
    .run();
  const carried = db.update(outbox).set({ digestId: null }).where(isCarried).run();
  if (carried.changes > 0) db.delete(outbox).where(isSelf).run();
  return said.flatMap(({ alertKey }) => (alertKey === null ? [] : [alertKey]));
}

function isWaiting(connection: Connection, alertKey: number, { channel }: DeadLetter): boolean {
  return latestMessages(connection, alertKey).get(channel)?.waits === true;
}
