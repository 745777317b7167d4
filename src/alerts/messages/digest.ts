import { counted } from '../../core/text/words.ts';
import { formatLocalTime } from '../../core/time-zone.ts';
import { messageId } from './compose.ts';
import { inOneText } from './message.ts';
import { byChange, inParts, type MadeMessage, type Part, type Rendered } from './message-parts.ts';
import { renderPayload } from './notification.ts';

/**
 * The end of the ledger's chain. A receiver that keeps the digest can check later that the chain up to this point was
 * not changed.
 */
export interface ChainHead {
  seq: number;
  digest: string;
}

export interface SummaryContext {
  channel: string;
  timezone: string;
  /** The hour of the digest, ISO-8601 UTC. */
  dueAt: string;
  at: string;
  head: ChainHead;
  mostBytes: number;
}

/**
 * Builds the daily summary of a channel, in as many messages as its size limit requires. It has one item for each
 * alert. Items are sorted by workspace, then open before ended, critical before warning, and largest change first.
 * Message ids are derived from the alerts in them.
 */
export function dailySummaries<T extends Rendered>(all: readonly T[], context: SummaryContext): MadeMessage<T>[] {
  const { channel, timezone, dueAt, at, head, mostBytes } = context;
  return inParts([...all].sort(bySeverity), mostBytes, (members, { part, parts }) => {
    const notifications = members.map(({ notification }) => notification);
    const ids = notifications.map((own) => own.notification_id);
    const notificationId = messageId(['alert.digest', channel, dueAt, ...ids]);
    const firing = notifications.filter(({ state }) => state !== 'resolved');
    const text = {
      title: titleOf(formatLocalTime(dueAt, timezone), { part, parts }, notifications.length, firing.length),
      lines: [],
    };
    const payload = renderPayload({
      notification_id: notificationId,
      type: 'alert.digest',
      severity: firing.some(({ severity }) => severity === 'critical') ? 'critical' : 'warning',
      channel,
      due_at: dueAt,
      part,
      parts,
      alert_count: notifications.length,
      firing_count: firing.length,
      resolved_count: notifications.length - firing.length,
      alerts: notifications.map((notification) => ({
        alert_id: notification.alert_id,
        severity: notification.severity,
        state: notification.state,
        title: notification.title,
        summary: notification.summary,
        notifications: [notification],
      })),
      head: { link: head.seq, digest: head.digest },
      created_at: at,
      ...text,
      summary: inOneText(text),
    });
    return { notificationId, payload };
  });
}

function bySeverity(a: Rendered, b: Rendered): number {
  const [one, other] = [a.notification, b.notification];
  return (
    compareText(one.workspace_id ?? '', other.workspace_id ?? '') ||
    // `firing` sorts before `resolved`.
    compareText(one.state, other.state) ||
    // `critical` sorts before `warning`.
    compareText(one.severity, other.severity) ||
    byChange(a, b) ||
    compareText(one.alert_id, other.alert_id)
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function titleOf(dueTime: string, { part, parts }: Part, alerts: number, firing: number): string {
  const where = parts === 1 ? '' : `, part ${part} of ${parts}`;
  const resolved = alerts - firing;
  const also = resolved === 0 ? '' : `, ${resolved} closed`;
  const count = firing === 0 ? `${counted(resolved, 'alert')} closed` : `${counted(firing, 'alert')} open${also}`;
  return `Daily summary of ${dueTime}${where}: ${count}`;
}
