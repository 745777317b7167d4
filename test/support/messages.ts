import Database from 'better-sqlite3';
import { composeDueMessages } from '../../src/alerts/outbox/compose-due.ts';
import { claimDelivery, recordAttempt } from '../../src/alerts/outbox/deliveries.ts';
import { DELIVERY_TABLE, type DeliveryEvent, type DeliveryState } from '../../src/alerts/outbox/delivery-states.ts';
import { findDueDeliveries } from '../../src/alerts/outbox/due.ts';
import { inertJson } from '../../src/core/text/inert-text.ts';
import type { LedgerDb } from '../../src/ledger/store/ledger-db.ts';
import type { Context } from '../../src/wiring/context.ts';
import type { LedgerView, Row } from './ledger-view.ts';
import { notifying } from './run/real-run.ts';

/** A ledger by its path, by a view of it or by a connection to it. */
export type Ledger = string | Pick<LedgerView, 'rows'> | LedgerDb;

/** `pending`: on its way, or tried again. `delivered`: its receiver has it. `dead`: given up until a replay. */
export type MessageState = 'pending' | 'delivered' | 'dead';

/** What was made for one channel. */
export interface Message {
  id: string;
  /** Of the message as it was sent; the same as its id but for what a group or a daily summary says. */
  delivery: string;
  channel: string;
  /** Of one alert, of several, or a daily summary. */
  form: 'single' | 'group' | 'digest';
  state: MessageState;
  /** What it says of its one alert; null for a group, a daily summary and a test. */
  event: string | null;
  /** What is sent, parsed, and as it is sent. */
  // biome-ignore lint/suspicious/noExplicitAny: an expectation on a wrong shape fails by itself
  payload: any;
  text: string;
  attempts: number;
  createdAt: string;
  dueAt: string | null;
  deliveredAt: string | null;
  lastError: string | null;
}

/** What is owed to a channel, and no message says yet. */
export interface NotificationRow {
  channel: string;
  event: string;
  tenant: string | null;
  batch: 'group' | 'digest' | null;
  dueAt: string | null;
  failures: number;
  givenUp: boolean;
}

const STATES: Readonly<Record<string, MessageState>> = { delivered: 'delivered', dead: 'dead' };

/** All messages in the order in which they were made, but for those that were refused or taken back: nobody has them. */
export function messages(ledger: Ledger): Message[] {
  return read(ledger, "SELECT * FROM deliveries WHERE state <> 'refused' ORDER BY delivery_key").map((row) => {
    const payload = JSON.parse(row.payload as string);
    return {
      id: row.notification_id as string,
      delivery: row.notification_id as string,
      channel: row.channel as string,
      form: row.form as Message['form'],
      state: STATES[row.state as string] ?? 'pending',
      event: row.form === 'single' ? (payload.event ?? null) : null,
      payload,
      text: row.payload as string,
      attempts: Number(row.attempts),
      createdAt: row.created_at as string,
      dueAt: row.due_at as string | null,
      deliveredAt: row.delivered_at as string | null,
      lastError: row.last_error as string | null,
    };
  });
}

/** What is said of alerts, one by one, whether by itself, in a group or in a daily summary. */
export function notifications(ledger: Ledger): Message[] {
  return messages(ledger).flatMap((message) => {
    const { form, payload } = message;
    if (form === 'single') return message.event === null ? [] : [message];
    // biome-ignore lint/suspicious/noExplicitAny: as above
    return payload.alerts.map((item: any) => {
      const own = form === 'group' ? item : item.notifications[0];
      return {
        ...message,
        id: own.notification_id,
        event: own.event,
        payload: own,
        text: inertJson(JSON.stringify(own)),
      };
    });
  });
}

export function pendingMessages(ledger: Ledger): Message[] {
  return messages(ledger).filter(({ state }) => state === 'pending');
}

/** What waits to be made, in the order of the alerts. */
export function pendingNotifications(ledger: Ledger): NotificationRow[] {
  const pending = `SELECT n.*, t.tenant_id FROM alert_notified n JOIN alerts a USING (alert_key) LEFT JOIN tenants t USING (tenant_key)
    WHERE n.pending IS NOT NULL AND n.delivery_key IS NULL ORDER BY n.alert_key, n.channel`;
  return read(ledger, pending).map((row) => ({
    channel: row.channel as string,
    event: String(row.pending).split(' ')[0] ?? '',
    tenant: row.tenant_id as string | null,
    batch: row.batch as NotificationRow['batch'],
    dueAt: row.due_at as string | null,
    failures: Number(row.failures),
    givenUp: Number(row.given_up) === 1,
  }));
}

/** How many messages are in each state, and how many are owed that were not given up; of one channel when it is given. */
export function countByState(ledger: Ledger, channel?: string): Partial<Record<MessageState | 'due' | 'held', number>> {
  const counts: ReturnType<typeof countByState> = {};
  const count = (state: keyof typeof counts, of: string): void => {
    if (channel === undefined || of === channel) counts[state] = (counts[state] ?? 0) + 1;
  };
  for (const message of messages(ledger)) count(message.state, message.channel);
  for (const { channel: of, batch, givenUp } of pendingNotifications(ledger)) {
    if (!givenUp) count(batch === 'digest' ? 'held' : 'due', of);
  }
  return counts;
}

/** As a sweep does: makes messages of what is due, and one attempt for each that is to go now. */
export async function deliverWaiting(context: Context): Promise<void> {
  await context.compose();
  for (const { notificationId } of context.dueDeliveries(1_000)) {
    await context.deliver(notificationId, new AbortController().signal);
  }
}

/** What an attempt came to, as far as the ledger is told. */
export type Answer = Extract<DeliveryEvent, 'accepted' | 'refused' | 'unknown' | 'rejected' | 'exhausted'>;

/** All that is due is made and gets this answer, without any channel; returns what has reached its receiver, or may have. */
export function answerWaiting(connection: LedgerDb, event: Answer, nowMs: number, delayMs = 1): Message[] {
  const { routes } = notifying(connection, nowMs);
  composeDueMessages(connection, { routes, nowMs });
  const channels = routes.map(({ channel }) => channel);
  const due = findDueDeliveries(connection, { channels, limit: 1_000, nowMs }).map(
    ({ notificationId }) => notificationId,
  );
  const inHand = messages(connection).filter(({ id }) => due.includes(id));
  const error = event === 'accepted' ? null : 'no';
  for (const { id: notificationId } of inHand) {
    claimDelivery(connection, { notificationId, routes, nowMs });
    recordAttempt(connection, { notificationId, event, delayMs, error, nowMs: nowMs + 1 });
  }
  return event === 'accepted' || event === 'unknown' ? inHand : [];
}

export interface PlantedMessage extends Pick<Message, 'id' | 'channel' | 'createdAt'> {
  state: DeliveryState;
  text?: string;
  alertKey?: number;
}

/** Writes a message of which no run knows; it is due when it was created. */
export function plantMessage(connection: LedgerDb, message: PlantedMessage): void {
  const { id, channel, state, createdAt, text = '{}', alertKey } = message;
  const dueAt = DELIVERY_TABLE[state].claim === null ? null : createdAt;
  const deliveryKey = connection
    .prepare(
      `INSERT INTO deliveries (notification_id, channel, form, payload, state, created_at, due_at, scheduled_at)
       VALUES (?, ?, 'single', ?, ?, ?, ?, ?) RETURNING delivery_key`,
    )
    .pluck()
    .get(id, channel, text, state, createdAt, dueAt, dueAt);
  if (alertKey === undefined) return;
  connection
    .prepare(
      `INSERT INTO delivery_members (delivery_key, alert_key, revision, event, episode, level, severity, notified_count)
       VALUES (?, ?, 1, 'opened', 1, 'happened', 'critical', 0)`,
    )
    .run(deliveryKey, alertKey);
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
