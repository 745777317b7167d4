import { NOTIFICATION_EVENTS } from '../../core/text/alert-words.ts';
import { alertFacts } from '../messages/fact-list.ts';
import type { Facts } from '../messages/facts/facts.ts';
import { grouped } from '../messages/facts/names.ts';
import { memberLines } from '../messages/group-sentence.ts';
import type { Message, MessageKind, MessageText } from '../messages/message.ts';
import { alertsOfGroup, alertsOfSummary, type Payload, type PayloadValue, readPayload } from './read-payload.ts';

/** A message about a group lists at most this many alerts, the largest ones. Its JSON and its page list all of them. */
const MAX_GROUP_ITEMS = 10;
/**
 * A daily summary lists at most this many alerts. These are more than in a group, because the summary is the only
 * message about most of them.
 */
const MAX_SUMMARY_ITEMS = 100;
const ITEM_CHARACTERS = 300;

/** Reads a stored payload as a message for people; null for a payload that is not a JSON object. */
export function readMessage(payload: string): Message | null {
  const notification = readPayload(payload);
  if (notification === null) return null;
  const text = payloadText(notification);
  const group = alertsOfGroup(notification);
  if (group !== null) return groupMessage(notification, text, group);
  const items = alertsOfSummary(notification);
  if (items !== null) return dailyMessage(notification, text, items);
  const alert = alertOf(notification);
  return alert === null ? { ...NOTHING_MORE, ...text, kind: 'test' } : alertMessage(notification, text, alert);
}

const NOTHING_MORE: Omit<Message, 'kind' | keyof MessageText> = {
  event: null,
  links: { open: null, acknowledge: null },
  command: null,
  facts: [],
  alert: null,
  items: [],
  head: null,
};

function alertMessage(notification: Payload, text: MessageText, alert: Facts): Message {
  const facts = alertFacts(alert).map(({ label, value }) => ({ label, value: unlinked(value) }));
  return {
    ...NOTHING_MORE,
    ...text,
    kind: messageKindOf(notification),
    event: eventOf(notification),
    links: { open: linkOf(notification.link), acknowledge: linkOf(notification.acknowledge_link) },
    command: `usage-ledger alerts explain ${alert.alert_id}`,
    facts: [...facts, { label: 'Alert', value: alert.alert_id }],
    alert,
  };
}

function groupMessage(notification: Payload, text: MessageText, items: readonly Payload[]): Message {
  const members = items.flatMap((item) => alertOf(item) ?? []);
  const kind = items[0] === undefined ? 'summary' : messageKindOf(items[0]);
  const id = unlinked(String(notification.notification_id));
  return {
    ...NOTHING_MORE,
    ...text,
    kind,
    event: eventOf(notification),
    links: { open: null, acknowledge: linkOf(notification.acknowledge_link) },
    command: kind === 'closed' ? 'usage-ledger alerts list --all' : `usage-ledger alerts ack ${id}`,
    items: shownItems(memberLines(members), MAX_GROUP_ITEMS),
  };
}

function dailyMessage(notification: Payload, text: MessageText, items: readonly Payload[]): Message {
  const lines = items.map((item) => `${messageKindOf(item)}: ${payloadText(item).title}`);
  return {
    ...NOTHING_MORE,
    ...text,
    kind: 'summary',
    command: 'usage-ledger alerts',
    items: shownItems(lines, MAX_SUMMARY_ITEMS),
    head: headWords(notification),
  };
}

/** Returns the first `most` items, then a line that counts the rest. */
function shownItems(lines: readonly string[], most: number): string[] {
  const shown = lines.slice(0, most).map((line) => clip(unlinked(line), ITEM_CHARACTERS));
  return lines.length > most ? [...shown, moreAlertsLine(lines.length - most)] : shown;
}

/** Returns the line that counts the alerts that a message does not list. */
export function moreAlertsLine(hidden: number): string {
  return `and ${grouped(hidden)} more: see \`usage-ledger alerts list --all\``;
}

/** Returns the title and the lines of a payload, or its summary if it has neither. */
function payloadText({ title, lines, summary }: Payload): MessageText {
  const words = [title, summary].find((each) => typeof each === 'string') ?? 'A notification without a title';
  const below = Array.isArray(lines) ? lines.filter((line) => typeof line === 'string') : [];
  return { title: unlinked(words), lines: below.map(unlinked) };
}

/**
 * Returns the notification if it is about one alert; null otherwise. Its fields are not checked, because this program
 * wrote the payload.
 */
function alertOf(notification: Payload): Facts | null {
  const { type, alert_id, evidence } = notification;
  const ours = typeof type === 'string' && type.startsWith('alert.') && typeof alert_id === 'string';
  return ours && typeof evidence === 'object' && evidence !== null ? (notification as unknown as Facts) : null;
}

function messageKindOf({ state, severity }: Payload): MessageKind {
  return state === 'resolved' ? 'closed' : severity === 'critical' ? 'critical' : 'warning';
}

/** Returns the event to show; null if an alert begins or ends, because the message's kind already shows that. */
function eventOf({ event }: Payload): Message['event'] {
  const known = NOTIFICATION_EVENTS.find((each) => each === event) ?? null;
  return known === 'opened' || known === 'closed' ? null : known;
}

function linkOf(value: PayloadValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function headWords({ head }: Payload): string | null {
  if (typeof head !== 'object' || head === null || Array.isArray(head)) return null;
  return `Head of the chain: link ${grouped(BigInt(Number(head.link ?? 0)))}, digest ${unlinked(String(head.digest))}`;
}

/** Returns a message's kind and event as shown in titles, such as `critical` or `warning, grown`. */
export function messageTag({ kind, event }: Message): string {
  return event === null ? kind : `${kind}, ${event}`;
}

/** Cuts a text to a number of characters, with an ellipsis if something is missing. Never splits a character. */
export function clip(text: string, most: number): string {
  const characters = Array.from(text);
  return characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : text;
}

/** Breaks up addresses that mail programs and chats turn into links: a tenant's name must not be clickable. */
function unlinked(text: string): string {
  return text
    .replace(/:(?=\/\/)/g, '[:]')
    .replace(/\bwww\./gi, (www) => `${www.slice(0, 3)}[.]`)
    .replace(/\bmailto:/gi, (scheme) => `${scheme.slice(0, 6)}[:]`);
}
