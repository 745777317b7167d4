import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { AppError } from '../../core/errors.ts';
import { query } from '../../ledger/store/query.ts';
import { asc, eq, sql } from '../../ledger/store/schema/drizzle.ts';
import { channelStates, outbox } from '../../ledger/store/schema/outbox-tables.ts';
import type { SqlRow } from '../../ledger/store/schema/rows.ts';

type Connection = Database.Database;

/** A notification that was given up. */
export type DeadLetter = Pick<
  SqlRow<typeof outbox>,
  'notification_id' | 'channel' | 'attempts' | 'created_at' | 'last_error'
>;

export interface ReplayRequest {
  /** Null: all that are dead. */
  notificationIds: readonly string[] | null;
  /** The channels that there are; what is dead for others stays dead. */
  channels: readonly string[];
  nowMs: number;
}

export interface ReplayReport {
  replayed: DeadLetter[];
  /** Disabled channels that are used again. */
  enabled: string[];
  /** Dead ones for channels that are not configured, which stay dead. */
  without_channel: DeadLetter[];
}

export function deadLetters(connection: Connection): DeadLetter[] {
  const { notificationId, channel, attempts, createdAt, lastError } = outbox;
  return query(connection)
    .select({ notification_id: notificationId, channel, attempts, created_at: createdAt, last_error: lastError })
    .from(outbox)
    .where(eq(outbox.state, 'dead').inlineParams())
    .orderBy(asc(createdAt), asc(notificationId))
    .all();
}

/**
 * Makes dead notifications due again, under the same id, and enables their channels. Raises `not_dead` and changes
 * nothing when one of the ids is not that of a dead notification.
 */
export function replayDead(connection: Connection, { notificationIds, channels, nowMs }: ReplayRequest): ReplayReport {
  return connection
    .transaction(() => {
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
      const replayed = chosen.filter((letter) => channels.includes(letter.channel));
      const db = query(connection);
      // What died waiting for a digest goes as one, not as hundreds.
      const state = sql`CASE WHEN ${outbox.digestAt} IS NULL THEN 'pending' ELSE 'held' END`;
      const now = isoTime(nowMs);
      const revived = { state, nextAttemptAt: now, claimedUntil: now, attemptsBefore: outbox.attempts };
      for (const letter of replayed) {
        db.update(outbox).set(revived).where(eq(outbox.notificationId, letter.notification_id)).run();
      }
      const enabled = [...new Set(replayed.map((letter) => letter.channel))].filter(
        (name) => db.delete(channelStates).where(eq(channelStates.name, name)).run().changes > 0,
      );
      return { replayed, enabled, without_channel: chosen.filter((letter) => !channels.includes(letter.channel)) };
    })
    .immediate();
}
