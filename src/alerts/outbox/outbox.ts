import type Database from 'better-sqlite3';
import { isoTime } from '../../core/clock.ts';
import { CLOCK_SLACK_MS } from '../../core/stored-time.ts';
import { perConnection, query } from '../../ledger/store/query.ts';
import { and, eq, gt, isNull, lte, or, type SQL, sql } from '../../ledger/store/schema/drizzle.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';
import { tellOfChannel } from './channel-faults.ts';
import { disableChannel } from './channel-states.ts';
import { acceptTold, askAgain } from './told-by.ts';

type Connection = Database.Database;

const DAY_MS = 86_400_000;
/** How long one sender keeps a notification in hand: longer than any channel's timeout. */
export const CLAIM_MS = 60_000;

const { notificationId, channel, payload, attempts, attemptsBefore, unknownAttempts, nextAttemptAt } = outbox;
/** When the wait of a notification began, or until when somebody has it in hand. */
const since = sql<string>`coalesce(${outbox.claimedUntil}, ${outbox.createdAt})`;
const COLUMNS = { notificationId, channel, payload, attempts, attemptsBefore, unknownAttempts, nextAttemptAt };
type StoredRow = Pick<typeof outbox.$inferSelect, keyof typeof COLUMNS>;
/** The wait for the next attempt, as it was written down. */
type StoredWait = Pick<StoredRow, 'nextAttemptAt'> & { since: string };

/** A notification that waits for delivery. */
export type OutboxRow = Omit<StoredRow, 'nextAttemptAt'> & { nextAttemptAtMs: number };

/** The same without what is sent. */
export interface WaitingNotification
  extends Pick<OutboxRow, 'notificationId' | 'channel' | 'nextAttemptAtMs' | 'attempts' | 'attemptsBefore'> {
  /** How long the wait after the last attempt was to be, whatever clock has said so. */
  waitMs: number;
}

/** What came of one attempt. */
export interface DeliveryRecord {
  notificationId: string;
  /** `pending`: tried again at `nextAttemptAtMs`. `dead`: given up, kept for replay. */
  state: 'delivered' | 'pending' | 'dead';
  nextAttemptAtMs: number;
  /** Why it was not delivered; null when it was. */
  error: string | null;
  /** Nobody knows whether the receiver has it all the same. */
  unknown: boolean;
  nowMs: number;
  /** Present when it says something of its channel: that it works, or of what the others hear: fails, or wants nothing more. */
  about?: { channel: string; says: 'works' | 'fails' | 'disabled' };
}

/** Written into the statement, so that the index of what is due serves. */
const isPending = eq(outbox.state, 'pending').inlineParams();

type WaitingRow = Pick<StoredRow, 'notificationId' | 'channel' | 'attempts' | 'attemptsBefore'> & StoredWait;

const selectWaiting = perConnection((connection) =>
  connection.prepare(
    `SELECT notification_id AS notificationId, channel, next_attempt_at AS nextAttemptAt, attempts,
       attempts_before AS attemptsBefore, coalesce(claimed_until, created_at) AS since
     FROM (SELECT *, row_number() OVER (PARTITION BY channel ORDER BY next_attempt_at) AS place
           FROM outbox
           WHERE state = 'pending' AND (unknown_attempts > 0 OR channel IN (SELECT value FROM json_each(@channels))))
     WHERE place <= @limit ORDER BY next_attempt_at`,
  ),
);

/**
 * The notifications that are still to be delivered to these channels, and those to others of which nobody knows whether they were,
 * at most `limit` of each channel, the longest due first.
 */
export function waitingNotifications(
  connection: Connection,
  { channels, limit }: { channels: readonly string[]; limit: number },
): WaitingNotification[] {
  const rows = selectWaiting(connection).all({ channels: JSON.stringify(channels), limit }) as WaitingRow[];
  return rows.map(({ nextAttemptAt, since, ...row }) => ({
    ...row,
    nextAttemptAtMs: Date.parse(nextAttemptAt),
    waitMs: lengthOf({ nextAttemptAt, since }),
  }));
}

/** One notification, if it is still to be delivered. */
export function pendingNotification(connection: Connection, notificationId: string): OutboxRow | null {
  const isWanted = and(isPending, eq(outbox.notificationId, notificationId));
  const row = query(connection).select(COLUMNS).from(outbox).where(isWanted).get();
  if (row === undefined) return null;
  const { nextAttemptAt, ...rest } = row;
  return { ...rest, nextAttemptAtMs: Date.parse(nextAttemptAt) };
}

/** Whether any wait began later than now: a clock that was ahead has said so. */
export function waitsBeganAhead(connection: Connection, nowMs: number): boolean {
  return selectAhead(connection, nowMs).limit(1).get() !== undefined;
}

/** Begins these waits now, as long as they were meant to be. What was in hand then is so no more. */
export function restartWaits(connection: Connection, { nowMs }: { nowMs: number }): void {
  connection
    .transaction(() => {
      for (const { notificationId, ...wait } of selectAhead(connection, nowMs).all()) {
        query(connection)
          .update(outbox)
          .set({ claimedUntil: isoTime(nowMs), nextAttemptAt: isoTime(nowMs + lengthOf(wait)) })
          .where(eq(outbox.notificationId, notificationId))
          .run();
      }
    })
    .immediate();
}

function selectAhead(connection: Connection, nowMs: number) {
  const isAhead = gt(since, isoTime(nowMs + CLAIM_MS + CLOCK_SLACK_MS));
  return query(connection)
    .select({ notificationId, nextAttemptAt, since: since.as('since') })
    .from(outbox)
    .where(and(isPending, isAhead));
}

function lengthOf({ nextAttemptAt, since }: StoredWait): number {
  return Math.max(0, Date.parse(nextAttemptAt) - Date.parse(since));
}

/** A daily summary goes once a day: what waits for longer goes by the hour of a clock that has been set back since. */
export function summaryIsDue(nowMs: number): SQL | undefined {
  const isAhead = gt(nextAttemptAt, isoTime(nowMs + DAY_MS + CLOCK_SLACK_MS));
  return and(eq(outbox.state, 'held').inlineParams(), or(lte(nextAttemptAt, isoTime(nowMs)), isAhead));
}

/** Whether anything waits for a daily summary that is due. */
export function summariesAreDue(connection: Connection, nowMs: number): boolean {
  return query(connection).select().from(outbox).where(summaryIsDue(nowMs)).limit(1).get() !== undefined;
}

/**
 * Takes a due notification in hand for `claimMs`; false when it is not due, or another sender has it. A sender that
 * dies leaves the claim to run out, so a notification may arrive twice, under the same id, but is never lost.
 */
export function claimDelivery(
  connection: Connection,
  { notificationId, nowMs, claimMs }: { notificationId: string; nowMs: number; claimMs: number },
): boolean {
  const now = isoTime(nowMs);
  const isFree = or(isNull(outbox.claimedUntil), lte(outbox.claimedUntil, now));
  const { changes } = query(connection)
    .update(outbox)
    .set({
      claimedUntil: isoTime(nowMs + claimMs),
      unknownAttempts: sql`${outbox.unknownAttempts} + 1`,
    })
    .where(and(eq(outbox.notificationId, notificationId), isPending, lte(outbox.nextAttemptAt, now), isFree))
    .run();
  return changes === 1;
}

/**
 * Writes down what came of an attempt and lets go of the claim. Returns what tells other channels how this one fares.
 */
export function recordDelivery(connection: Connection, record: DeliveryRecord): string[] {
  return connection
    .transaction(() => {
      const written = query(connection)
        .update(outbox)
        .set({
          state: record.state,
          attempts: sql`${outbox.attempts} + 1`,
          unknownAttempts: record.unknown ? outbox.unknownAttempts : sql`${outbox.unknownAttempts} - 1`,
          nextAttemptAt: isoTime(record.nextAttemptAtMs),
          claimedUntil: record.state === 'pending' ? isoTime(record.nowMs) : null,
          lastError: record.error,
          deliveredAt: record.state === 'delivered' ? isoTime(record.nowMs) : null,
        })
        .where(and(eq(outbox.notificationId, record.notificationId), isPending))
        .returning({ unknownAttempts: outbox.unknownAttempts })
        .get() as { unknownAttempts: number } | undefined;
      tellRecorded(connection, record, written ?? { unknownAttempts: 0 });
      const { about, nowMs } = record;
      if (about === undefined) return [];
      const { channel, says } = about;
      const reason = record.error ?? 'it was refused';
      if (says === 'disabled') disableChannel(connection, channel, reason, nowMs);
      return tellOfChannel(connection, { channel, reason: says === 'works' ? null : reason }, nowMs);
    })
    .immediate();
}

/** What a receiver has, or may have when nobody tries again, it was told; what it has refused is asked for anew. */
function tellRecorded(
  connection: Connection,
  { notificationId: id, state, nowMs }: DeliveryRecord,
  { unknownAttempts }: { unknownAttempts: number },
): void {
  const at = isoTime(nowMs);
  if (state === 'delivered' || (state === 'dead' && unknownAttempts > 0)) acceptTold(connection, id, at);
  askAgain(connection, id, at);
}

/** Lets go of a claim whose attempt was cut off: it does not count, and the next sender may take it at once. */
export function releaseDelivery(connection: Connection, { notificationId }: { notificationId: string }): void {
  query(connection)
    .update(outbox)
    .set({ claimedUntil: null })
    .where(and(eq(outbox.notificationId, notificationId), isPending))
    .run();
}
