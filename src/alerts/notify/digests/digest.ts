import { counted } from '../../../core/text/counted.ts';
import { parseExact, stringifyExact } from '../../../core/text/exact-json.ts';
import { inertJson } from '../../../core/text/inert-text.ts';
import { compareFigures } from '../../book/alert-figures.ts';
import { shortHash } from '../../book/alert-rows.ts';

/** The most alerts of one digest; more of them make several. */
export const DIGEST_ALERTS = 200;
/** A digest of more than one alert has at most so many characters; receivers limit what they take. */
const DIGEST_CHARACTERS = 1_000_000;

/** A notification that waits for the digest. */
export interface HeldNotification {
  notificationId: string;
  alertId: string;
  /** JSON text as it was stored. */
  payload: string;
}

export interface Digest {
  notificationId: string;
  /** The notifications that it carries. */
  members: string[];
  payload: string;
}

/** The end of the ledger's chain: whoever keeps the digest is a witness of it. */
export interface ChainHead {
  seq: number;
  digest: string;
}

/** The part of a stored notification that a digest is ordered and summed up by; the whole of it is passed on. */
interface Told {
  type: string;
  state: string;
  severity: string;
  workspace_id: string;
  credits: { change: bigint } | null;
  created_at: string;
  summary: string;
}

/** All that waits of one alert, the oldest first. */
interface Item {
  alertId: string;
  members: string[];
  notifications: Told[];
  last: Told;
  characters: number;
}

/**
 * The digests of one channel, of at least one notification, the oldest first: an item an alert, by workspace, then the
 * critical ones first, then the largest change first. The ids follow from the members alone, so that the same digest
 * made twice is one notification.
 */
export function buildDigests(
  held: readonly HeldNotification[],
  { channel, dueAt, createdAt, head }: { channel: string; dueAt: string; createdAt: string; head: ChainHead },
): Digest[] {
  const parts = inParts(itemsOf(held).sort(compareItems));
  return parts.map((items, index) => {
    const members = items.flatMap((item) => item.members);
    const notificationId = `msg_${shortHash(JSON.stringify(['alert.digest', channel, dueAt, ...members]), 32)}`;
    const firing = items.filter(({ last }) => last.state !== 'resolved');
    const digest = {
      notification_id: notificationId,
      type: 'alert.digest',
      severity: firing.some(({ last }) => last.severity === 'critical') ? 'critical' : 'warning',
      channel,
      due_at: dueAt,
      part: index + 1,
      parts: parts.length,
      alert_count: items.length,
      firing_count: firing.length,
      resolved_count: items.length - firing.length,
      alerts: items.map(renderItem),
      head: { link: head.seq, digest: head.digest },
      created_at: createdAt,
      summary: digestLine(dueAt, items.length, firing.length, parts.length > 1 ? [index + 1, parts.length] : null),
    };
    return { notificationId, members, payload: inertJson(stringifyExact(digest)) };
  });
}

function itemsOf(held: readonly HeldNotification[]): Item[] {
  const items = new Map<string, Item>();
  for (const { notificationId, alertId, payload } of held) {
    const told = parseExact(payload) as Told;
    const item = items.get(alertId) ?? { alertId, members: [], notifications: [], last: told, characters: 0 };
    item.members.push(notificationId);
    item.notifications.push(told);
    item.last = told;
    item.characters += payload.length;
    items.set(alertId, item);
  }
  return [...items.values()];
}

function compareItems(a: Item, b: Item): number {
  return (
    compareText(a.last.workspace_id, b.last.workspace_id) ||
    compareText(a.last.severity, b.last.severity) ||
    compareFigures(sizeOf(b), sizeOf(a)) ||
    compareText(a.alertId, b.alertId)
  );
}

/** `critical` stands before `warning` in the alphabet, too. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function sizeOf({ last }: Item): bigint {
  const change = last.credits?.change ?? 0n;
  return change < 0n ? -change : change;
}

function inParts(items: readonly Item[]): Item[][] {
  const parts: Item[][] = [];
  let room = 0;
  for (const item of items) {
    const part = parts.at(-1);
    if (part === undefined || part.length === DIGEST_ALERTS || item.characters > room) {
      parts.push([item]);
      room = DIGEST_CHARACTERS - item.characters;
    } else {
      part.push(item);
      room -= item.characters;
    }
  }
  return parts;
}

function renderItem({ alertId, notifications, last }: Item): object {
  return {
    alert_id: alertId,
    severity: last.severity,
    state: last.state,
    summary: itemLine(notifications, last),
    notifications,
  };
}

/** What began and ended since the last digest is one line, and says both. */
function itemLine(notifications: readonly Told[], last: Told): string {
  const fired = notifications.findLast(({ type }) => type === 'alert.firing');
  if (last.type !== 'alert.resolved' || fired === undefined) return last.summary;
  return `Fired ${minute(fired.created_at)} and resolved ${minute(last.created_at)} UTC. ${last.summary}`;
}

function digestLine(dueAt: string, alerts: number, firing: number, part: [number, number] | null): string {
  const count = counted(alerts, 'alert');
  const where = part === null ? '' : `, part ${part[0]} of ${part[1]}`;
  return `Digest of ${minute(dueAt)} UTC${where}: ${count}, ${firing} firing and ${alerts - firing} resolved.`;
}

/** `2026-03-21 07:00` of an ISO-8601 time. */
function minute(at: string): string {
  return at.slice(0, 16).replace('T', ' ');
}
