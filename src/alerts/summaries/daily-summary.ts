import { formatMinute } from '../../core/date-time.ts';
import { counted } from '../../core/text/counted.ts';
import { parseExact, stringifyExact } from '../../core/text/exact-json.ts';
import { inertJson } from '../../core/text/inert-text.ts';
import { compareFigures } from '../track/alert-figures.ts';
import { shortHash } from '../track/alert-rows.ts';

/** The most alerts of one daily summary; more of them make several. */
export const SUMMARY_ALERTS = 200;
/** A daily summary of more than one alert has at most so many characters; receivers limit what they take. */
const SUMMARY_CHARACTERS = 1_000_000;

/** A notification that waits for the daily summary. */
export interface HeldNotification {
  notificationId: string;
  alertId: string;
  /** JSON text as it was stored. */
  payload: string;
}

export interface DailySummary {
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

/** The part of a stored notification that a daily summary is ordered and summed up by; the whole of it is passed on. */
interface HeldContent {
  state: string;
  severity: string;
  workspace_id: string;
  credits: { change: bigint } | null;
  summary: string;
}

/** What waits of an alert. */
interface Item {
  held: HeldNotification;
  told: HeldContent;
}

/**
 * The daily summaries of one channel, of at least one notification, the oldest first: an item an alert, by workspace, then the
 * critical ones first, then the largest change first. The ids follow from the members alone, so that the same summary
 * made twice is one notification.
 */
export function buildDailySummaries(
  held: readonly HeldNotification[],
  { channel, dueAt, createdAt, head }: { channel: string; dueAt: string; createdAt: string; head: ChainHead },
): DailySummary[] {
  const items = held.map((each): Item => ({ held: each, told: parseExact(each.payload) as HeldContent }));
  const parts = inParts(items.sort(compareItems));
  return parts.map((items, index) => {
    const members = items.map((item) => item.held.notificationId);
    const notificationId = `msg_${shortHash(JSON.stringify(['alert.digest', channel, dueAt, ...members]), 32)}`;
    const firing = items.filter(({ told }) => told.state !== 'resolved');
    const summary = {
      notification_id: notificationId,
      type: 'alert.digest',
      severity: firing.some(({ told }) => told.severity === 'critical') ? 'critical' : 'warning',
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
      summary: summaryLine(dueAt, items.length, firing.length, parts.length > 1 ? [index + 1, parts.length] : null),
    };
    return { notificationId, members, payload: inertJson(stringifyExact(summary)) };
  });
}

function compareItems(a: Item, b: Item): number {
  return (
    compareText(a.told.workspace_id, b.told.workspace_id) ||
    compareText(a.told.severity, b.told.severity) ||
    compareFigures(sizeOf(b), sizeOf(a)) ||
    compareText(a.held.alertId, b.held.alertId)
  );
}

/** `critical` stands before `warning` in the alphabet, too. */
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function sizeOf({ told }: Item): bigint {
  const change = told.credits?.change ?? 0n;
  return change < 0n ? -change : change;
}

function inParts(items: readonly Item[]): Item[][] {
  const parts: Item[][] = [];
  let room = 0;
  for (const item of items) {
    const part = parts.at(-1);
    if (part === undefined || part.length === SUMMARY_ALERTS || item.held.payload.length > room) {
      parts.push([item]);
      room = SUMMARY_CHARACTERS - item.held.payload.length;
    } else {
      part.push(item);
      room -= item.held.payload.length;
    }
  }
  return parts;
}

function renderItem({ held, told }: Item): object {
  const { severity, state, summary } = told;
  return { alert_id: held.alertId, severity, state, summary, notifications: [told] };
}

function summaryLine(dueAt: string, alerts: number, firing: number, part: [number, number] | null): string {
  const count = counted(alerts, 'alert');
  const where = part === null ? '' : `, part ${part[0]} of ${part[1]}`;
  return `Daily summary of ${formatMinute(dueAt)} UTC${where}: ${count}, ${firing} firing and ${alerts - firing} resolved.`;
}
