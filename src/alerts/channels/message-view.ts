import { firstOf } from '../../core/text/words.ts';
import { alertFacts } from '../messages/fact-list.ts';
import type { Facts } from '../messages/facts/facts.ts';
import { grouped, signed } from '../messages/facts/names.ts';
import { forecast, monthCredits, subjectOf } from '../messages/facts/phrases.ts';
import { nextCommands } from '../messages/next-commands.ts';
import { groupItems, type Payload, type PayloadValue, readPayload, summaryItems } from './read-payload.ts';

/** A notification as people read it. No text in it is active, whatever the names in it are; none is HTML or markup. */
export interface MessageView {
  /** `critical`, `warning`, `resolved`, `summary` or `test`. */
  mark: string;
  summary: string;
  /** Facts about an alert; for other notifications all remaining fields. */
  facts: { label: string; value: string }[];
  /** Commands to type next, whole lines; none where nothing is to be done. */
  next: string[];
  /** The alert with its daily usage, for a chart; null if there is none. */
  alert: Facts | null;
  /** A line for each alert of a daily summary or a group; none for everything else. */
  lines: string[];
  /** The same of a group as cells, the largest first; null for everything else. */
  members: GroupMember[] | null;
  /** The page about it, and the one on which to acknowledge it; null without one. */
  link: string | null;
  acknowledgeLink: string | null;
  /** The head of the ledger's chain in a digest, for `verify --expect-head`; null for other messages. */
  head: string | null;
}

/** One alert of a group: its subject and the credits before and now, or forecast. */
export interface GroupMember {
  who: string;
  before: string;
  now: string;
  isForecast: boolean;
  change: string;
  alertId: string;
}

/** Values for the parts that most notifications do not have. */
const NOTHING_MORE: Omit<MessageView, 'mark' | 'summary'> = {
  facts: [],
  next: [],
  alert: null,
  lines: [],
  members: null,
  link: null,
  acknowledgeLink: null,
  head: null,
};

/** Fields that the mark and the summary already show. */
const SHOWN_ELSEWHERE: readonly string[] = ['summary', 'severity'];
/** More entries of a list than this are counted instead of shown. */
const LIST_ENTRIES = 10;
const LINE_CHARACTERS = 500;
/** Lines of a daily summary that a message for people shows; the rest is counted. */
export const MESSAGE_LINES = 100;

/**
 * Turns a stored payload into words for people. It shows whatever fields there are, groups of fields as `credits
 * previous`, so that every kind of notification can be read; null for a payload that is not a JSON object.
 */
export function messageView(payload: string): MessageView | null {
  const notification = readPayload(payload);
  if (notification === null) return null;
  const { type, summary } = notification;
  const group = groupItems(notification);
  if (group !== null) return groupView(notification, group);
  const items = summaryItems(notification);
  if (items !== null) {
    const lines = items.map((item) => clip(`${markOf(item)}: ${unlinked(String(item.summary))}`, LINE_CHARACTERS));
    const words = unlinked(String(summary));
    return { ...NOTHING_MORE, mark: 'summary', summary: words, lines, head: headWords(notification) };
  }
  const mark = type === 'test' ? 'test' : markOf(notification);
  const words = unlinked(typeof summary === 'string' ? summary : 'A notification without a summary');
  const alert = alertOf(notification);
  if (alert !== null) {
    const facts = [
      ...alertFacts(alert).map(({ label, value }) => ({ label, value: unlinked(value) })),
      { label: 'Alert', value: alert.alert_id },
    ];
    return {
      ...NOTHING_MORE,
      mark,
      summary: words,
      facts,
      next: nextCommands(alert, Date.parse(alert.created_at)),
      alert,
      link: textOf(notification.link),
      acknowledgeLink: textOf(notification.acknowledge_link),
    };
  }
  const fields = Object.entries(notification).filter(([name]) => !SHOWN_ELSEWHERE.includes(name));
  return { ...NOTHING_MORE, mark, summary: words, facts: fields.flatMap(([name, value]) => factsOf(name, value)) };
}

function groupView(notification: Payload, items: readonly Payload[]): MessageView {
  const { notification_id: id, summary } = notification;
  const facts = items.flatMap((item) => alertOf(item) ?? []);
  const [first] = facts;
  const members = facts.map(memberOf);
  const lines = members.map(({ who, before, now, isForecast, change, alertId }) => {
    const figures = before === '' ? '' : `: ${changeWords({ before, now, isForecast, change })}`;
    return clip(`${who}${figures}, ${alertId}`, LINE_CHARACTERS);
  });
  return {
    ...NOTHING_MORE,
    mark: items[0] === undefined ? 'summary' : markOf(items[0]),
    summary: unlinked(String(summary)),
    // The sentence has the total difference if the figures are of one kind.
    facts: [
      ...(notification.credits_change == null ? [] : totalOf(facts)),
      { label: 'Message', value: unlinked(String(id)) },
    ],
    // Commands for the whole group; a plan needs the figure of one alert.
    next: first ? nextCommands({ ...first, alert_id: String(id), tenant_id: null }, Date.parse(first.created_at)) : [],
    lines,
    members,
    acknowledgeLink: textOf(notification.acknowledge_link),
  };
}

function memberOf(facts: Facts): GroupMember {
  const { credits, alert_id: alertId } = facts;
  const who = unlinked(subjectOf(facts));
  if (credits === null) return { who, before: '', now: '', isForecast: false, change: '', alertId };
  const expected = monthCredits(facts);
  const isForecast = facts.level === 'likely' && facts.evidence.projection !== null;
  return {
    who,
    before: grouped(credits.previous),
    now: isForecast ? forecast(facts) : grouped(expected),
    isForecast,
    change: signed(expected - BigInt(credits.previous)),
    alertId,
  };
}

function totalOf(facts: readonly Facts[]): MessageView['facts'] {
  const previous = facts.reduce((sum, { credits }) => sum + BigInt(credits?.previous ?? 0n), 0n);
  const expected = facts.reduce((sum, each) => sum + monthCredits(each), 0n);
  const isForecast = facts.every(({ level }) => level === 'likely');
  const figures = { before: grouped(previous), now: grouped(expected), change: signed(expected - previous) };
  return [{ label: `Total of ${facts.length}`, value: changeWords({ ...figures, isForecast }) }];
}

function changeWords({ before, now, isForecast, change }: Omit<GroupMember, 'who' | 'alertId'>): string {
  return `${isForecast ? `forecast ${now}` : `${now} credits`}, ${before} before (${change})`;
}

/** Returns the notification if it is about one alert; null otherwise. Our own code wrote it, so its fields exist. */
function alertOf(notification: Payload): Facts | null {
  const { type, alert_id, evidence } = notification;
  const ours = typeof type === 'string' && type.startsWith('alert.') && typeof alert_id === 'string';
  return ours && typeof evidence === 'object' && evidence !== null ? (notification as unknown as Facts) : null;
}

function textOf(value: PayloadValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

function headWords({ head }: Payload): string | null {
  if (typeof head !== 'object' || head === null || Array.isArray(head)) return null;
  return `The ledger ends at link ${inWords(head.link ?? null)}, digest ${unlinked(String(head.digest))}`;
}

/** Returns the line that points to the alerts that did not fit into the message. */
export function tailLine(hidden: number): string {
  return `and ${hidden} more: see \`usage-ledger alerts list --all\``;
}

function markOf({ state, severity }: Payload): string {
  return state === 'resolved' ? 'resolved' : severity === 'critical' ? 'critical' : 'warning';
}

/** Cuts a text to a number of characters, with an ellipsis if something is missing. Never splits a character. */
export function clip(text: string, most: number): string {
  const characters = Array.from(text);
  return characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : text;
}

function factsOf(name: string, value: PayloadValue): MessageView['facts'] {
  const label = unlinked(name.replaceAll('_', ' '));
  if (value === null) return [];
  if (Array.isArray(value)) {
    return value.length === 0 ? [] : [{ label, value: firstOf(value.map(inWords), LIST_ENTRIES) }];
  }
  if (typeof value === 'object')
    return Object.entries(value).flatMap(([inner, own]) => factsOf(`${name} ${inner}`, own));
  return [{ label, value: inWords(value) }];
}

function inWords(value: PayloadValue): string {
  if (typeof value === 'bigint' || typeof value === 'number') return grouped(value);
  if (value === null || typeof value !== 'object') return unlinked(String(value));
  if (Array.isArray(value)) return value.map(inWords).join(' ');
  return Object.entries(value)
    .map(([name, own]) => `${unlinked(name.replaceAll('_', ' '))} ${inWords(own)}`)
    .join(' ');
}

/** Disarms text that mail programs and chats would turn into a link: a tenant's name must not be clickable. */
function unlinked(text: string): string {
  return text
    .replace(/:(?=\/\/)/g, '[:]')
    .replace(/\bwww\./gi, (www) => `${www.slice(0, 3)}[.]`)
    .replace(/\bmailto:/gi, (scheme) => `${scheme.slice(0, 6)}[:]`);
}
