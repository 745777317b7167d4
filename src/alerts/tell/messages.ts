import type Database from 'better-sqlite3';
import { perConnection, prepared, query } from '../../ledger/store/query.ts';
import { aliasedTable, and, asc, eq, getTableColumns, isNotNull, max, sql } from '../../ledger/store/schema/drizzle.ts';
import { outbox } from '../../ledger/store/schema/outbox-tables.ts';

type Row = Omit<typeof outbox.$inferSelect, 'payload'>;
/** A message, and the one that carries it. */
interface Carried {
  own: Row;
  by: Row | null;
}

/** A message of an alert to a channel, without what is sent. */
export interface Message
  extends Pick<Row, 'notificationId' | 'channel' | 'state' | 'event' | 'episode' | 'level' | 'toldTimes' | 'measure'> {
  revision: number;
  digestAt: string | null;
  /** It waits for its first attempt, or the next, by itself or with the one that carries it. */
  waits: boolean;
  /** Somebody may have it already: its bytes stay as they are, and nothing newer of the alert goes before it. */
  isFixed: boolean;
  /** The one that carries it: a daily summary or a group. */
  carrier: string | null;
  /** When it is tried next, and what came before. */
  schedule: Schedule;
}

export type Schedule = Pick<Row, 'nextAttemptAt' | 'attempts' | 'attemptsBefore' | 'claimedUntil'>;

const { payload: _, ...columns } = getTableColumns(outbox);
const carrier = aliasedTable(outbox, 'carrier');
const { payload: __, ...carrierColumns } = getTableColumns(carrier);

const messagesOfAlert = prepared((db) =>
  db
    .select({ own: columns, by: carrierColumns })
    .from(outbox)
    .leftJoin(carrier, eq(carrier.notificationId, outbox.digestId))
    .where(and(eq(outbox.alertKey, sql.placeholder('alertKey')), isNotNull(outbox.event)))
    .orderBy(asc(outbox.revision)),
);

/** The alerts of which a message waits to be sent, by itself or with another, or was given up. */
export const alertsUnsent = perConnection((connection) => {
  const states = ['pending', 'held', 'dead'];
  const own = states.map((state) => `SELECT alert_key FROM outbox WHERE state = '${state}'`);
  const carried = states.map(
    (state) => `SELECT m.alert_key FROM outbox g JOIN outbox m ON m.digest_id = g.notification_id
      WHERE g.state = '${state}' AND g.alert_key IS NULL`,
  );
  const keys = connection.prepare([...own, ...carried].join(' UNION ')).pluck();
  return () => new Set(keys.all() as number[]);
});

const lastRevisionOf = prepared((db) => {
  const { alertKey, channel, event, revision } = outbox;
  const isOwn = and(
    eq(alertKey, sql.placeholder('alertKey')),
    eq(channel, sql.placeholder('channel')),
    isNotNull(event),
  );
  return db
    .select({ last: max(revision) })
    .from(outbox)
    .where(isOwn);
});

/** The number of the latest message of an alert to a channel, sent or not; 0 without any. */
export function lastRevision(connection: Database.Database, alertKey: number, channel: string): number {
  return lastRevisionOf(connection).get({ alertKey, channel })?.last ?? 0;
}

/** The latest message of an alert to each channel; those that nobody needs any more are left out. */
export function latestMessages(connection: Database.Database, alertKey: number): Map<string, Message> {
  const latest = new Map<string, Message>();
  for (const { own, by } of messagesOfAlert(connection).all({ alertKey }) as Carried[]) {
    const before = latest.get(own.channel);
    if (before?.waits === true && before.isFixed) continue;
    latest.set(own.channel, toMessage(own, own.state === 'digested' ? by : null));
  }
  return latest;
}

function toMessage(own: Row, by: Row | null): Message {
  const { notificationId, channel, state, event, episode, level, toldTimes, measure, revision, digestAt } = own;
  const sent = by ?? own;
  return {
    notificationId,
    channel,
    state: by?.state === 'dead' ? 'dead' : state,
    event,
    episode,
    level,
    toldTimes,
    measure,
    revision: revision ?? 0,
    digestAt,
    carrier: by?.notificationId ?? null,
    waits: sent.state === 'pending' || sent.state === 'held',
    isFixed: sent.unknownAttempts > 0,
    schedule: sent,
  };
}

/** What waits goes by itself, or with the daily summary of its hour. */
export const stateOfWaiting = sql`iif(${outbox.digestAt} IS NULL, 'pending', 'held')`;

const dropRow = prepared((db) =>
  db
    .update(outbox)
    .set({ state: 'dropped', digestId: null })
    .where(eq(outbox.notificationId, sql.placeholder('notificationId'))),
);

const forgetRow = prepared((db) =>
  db.delete(outbox).where(eq(outbox.notificationId, sql.placeholder('notificationId'))),
);

/** Gives a message that nobody has had the figures of now. */
export function refreshMessage(
  connection: Database.Database,
  message: Message,
  { payload, measure }: { payload: string; measure: bigint | null },
): void {
  if (message.carrier !== null) takeApart(connection, message.carrier);
  const isOwn = eq(outbox.notificationId, message.notificationId);
  query(connection).update(outbox).set({ payload, measure }).where(isOwn).run();
}

/** Takes back a message that is not so any more. What carried it is taken apart: the others go on by themselves. */
export function dropMessage(connection: Database.Database, message: Message): void {
  if (message.carrier !== null) takeApart(connection, message.carrier);
  const { notificationId, schedule } = message;
  // What nobody has even tried is forgotten.
  (schedule.attempts > 0 ? dropRow : forgetRow)(connection).run({ notificationId });
}

/** Has the members of a group or daily summary that nobody has had wait by themselves again, from when that began to wait. */
export function takeApart(connection: Database.Database, carrierId: string): void {
  const { nextAttemptAt, attempts, attemptsBefore, claimedUntil, createdAt } = carrier;
  query(connection)
    .update(outbox)
    .set({
      state: stateOfWaiting,
      digestId: null,
      nextAttemptAt: sql`${nextAttemptAt}`,
      attempts: sql`${attempts}`,
      attemptsBefore: sql`${attemptsBefore}`,
      claimedUntil: sql`coalesce(${claimedUntil}, ${createdAt})`,
    })
    .from(carrier)
    .where(and(eq(carrier.notificationId, carrierId), eq(outbox.digestId, carrier.notificationId)))
    .run();
  forgetRow(connection).run({ notificationId: carrierId });
}
