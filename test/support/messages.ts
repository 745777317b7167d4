import Database from 'better-sqlite3';
import {
  claimDelivery,
  type DeliveryRecord,
  recordDelivery,
  waitingNotifications,
} from '../../src/alerts/outbox/outbox.ts';
import type { Context } from '../../src/wiring/context.ts';
import type { LedgerView, Row } from './ledger-view.ts';

/** A ledger by its path, by a view of it or by a connection to it. */
export type Ledger = string | Pick<LedgerView, 'rows'> | Database.Database;

/**
 * `pending`: goes at its next attempt. `held`: goes with the daily summary. `digested`: went within another message. `delivered`:
 * its receiver has it. `dead`: given up until a replay.
 */
export type MessageState = 'pending' | 'held' | 'digested' | 'delivered' | 'dead';

/** What was sent to one channel, or is to be sent. */
export interface Message {
  id: string;
  channel: string;
  state: MessageState;
  /** What it says of its one alert; null for a group, a daily summary and a test. */
  event: string | null;
  /** What is sent, parsed, and as it is sent. */
  // biome-ignore lint/suspicious/noExplicitAny: an expectation on a wrong shape fails by itself
  payload: any;
  text: string;
  attempts: number;
  createdAt: string;
  nextAttemptAt: string;
  claimedUntil: string | null;
  deliveredAt: string | null;
  lastError: string | null;
  /** The hour of the daily summary that it was written for; null for what goes at once. */
  digestAt: string | null;
  /** The group or the daily summary that it went with. */
  digestId: string | null;
}

/** All messages in the order in which they were written, but for those that were taken back before anybody had them. */
export function messages(ledger: Ledger): Message[] {
  return read(ledger, "SELECT * FROM outbox WHERE state <> 'dropped' ORDER BY rowid").map((row) => ({
    id: row.notification_id as string,
    channel: row.channel as string,
    state: row.state as MessageState,
    event: row.event as string | null,
    payload: JSON.parse(row.payload as string),
    text: row.payload as string,
    attempts: Number(row.attempts),
    createdAt: row.created_at as string,
    nextAttemptAt: row.next_attempt_at as string,
    claimedUntil: row.claimed_until as string | null,
    deliveredAt: row.delivered_at as string | null,
    lastError: row.last_error as string | null,
    digestAt: row.digest_at as string | null,
    digestId: row.digest_id as string | null,
  }));
}

/** What is said of alerts, one by one, whether by itself, in a group or in a daily summary. */
export function notifications(ledger: Ledger): Message[] {
  return messages(ledger).filter(({ event }) => event !== null);
}

export function pendingMessages(ledger: Ledger): Message[] {
  return messages(ledger).filter(({ state }) => state === 'pending');
}

/** How many messages are in each state, by its name; of one channel when it is given. */
export function countByState(ledger: Ledger, channel?: string): Partial<Record<MessageState, number>> {
  const counts: Partial<Record<MessageState, number>> = {};
  for (const message of messages(ledger)) {
    if (channel === undefined || message.channel === channel) counts[message.state] = (counts[message.state] ?? 0) + 1;
  }
  return counts;
}

/** Makes one attempt for all that is to go now. */
export async function deliverWaiting(context: Context): Promise<void> {
  const nowMs = context.clock.now();
  const waiting = waitingNotifications(context.reader().connection, {
    channels: [...context.channels.keys()],
    limit: 1_000,
  });
  const due = waiting.filter(({ nextAttemptAtMs }) => nextAttemptAtMs <= nowMs);
  for (const { notificationId } of due) await context.deliver(notificationId, new AbortController().signal);
}

/** All that is due gets this answer, without any channel; what has reached its receiver, or may have. */
export function answerWaiting(
  connection: Database.Database,
  { state, unknown }: Pick<DeliveryRecord, 'state' | 'unknown'>,
  nowMs: number,
): Message[] {
  const inHand = pendingMessages(connection).filter(({ id: notificationId }) =>
    claimDelivery(connection, { notificationId, nowMs, claimMs: 1_000 }),
  );
  const error = state === 'delivered' ? null : 'no';
  const times = { nextAttemptAtMs: nowMs + 1, nowMs: nowMs + 1 };
  for (const { id: notificationId } of inHand)
    recordDelivery(connection, { notificationId, state, unknown, error, ...times });
  return state === 'delivered' || unknown ? inHand : [];
}

export interface PlantedMessage extends Pick<Message, 'id' | 'channel' | 'state' | 'createdAt'> {
  text?: string;
  alertKey?: number | null;
}

/** Writes a message of which no run knows; it is due when it was created. */
export function plantMessage(connection: Database.Database, message: PlantedMessage): void {
  const { id, channel, state, createdAt, text = '{}', alertKey = null } = message;
  connection
    .prepare(
      `INSERT INTO outbox (notification_id, alert_key, channel, payload, state, created_at, next_attempt_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    )
    .run(id, alertKey, channel, text, state, createdAt, createdAt);
}

function read(ledger: Ledger, sql: string): Row[] {
  if (typeof ledger !== 'string') return 'rows' in ledger ? ledger.rows(sql) : (ledger.prepare(sql).all() as Row[]);
  const connection = new Database(ledger, { readonly: true });
  try {
    return connection.prepare(sql).all() as Row[];
  } finally {
    connection.close();
  }
}
