import type { ChannelRoute } from '../pipeline/route.ts';
import type { TenantCounts } from '../state/bulk-pending.ts';
import { acknowledgeLink } from './acknowledge-link.ts';
import { messageId } from './compose.ts';
import { groupText, largestWords, sumOf } from './group-sentence.ts';
import { inOneText } from './message.ts';
import { byChange, inParts, type MadeMessage, type Rendered } from './message-parts.ts';
import { renderPayload } from './notification.ts';

/**
 * Composes the messages about several alerts of one rule for a channel, as few as the receiver's size limit allows.
 * Together they contain every alert completely, the one with the largest change first.
 */
export function groupMessages<T extends Rendered>(
  all: readonly T[],
  { route, at, ofAll, mostBytes }: { route: ChannelRoute; at: string; ofAll: TenantCounts; mostBytes: number },
): MadeMessage<T>[] {
  const sorted = [...all].sort(byChange);
  const notifications = sorted.map(({ notification }) => notification);
  const whole = groupText(notifications, ofAll);
  return inParts(sorted, mostBytes, (members, { part, parts }) => {
    const notifications = members.map(({ notification }) => notification);
    const [first] = notifications;
    const ids = notifications.map((own) => own.notification_id);
    const notificationId = messageId(['alert.group', route.channel, at, ...ids]);
    const text = parts === 1 ? whole : { ...whole, title: `${whole.title} (part ${part} of ${parts})` };
    const payload = renderPayload({
      notification_id: notificationId,
      type: 'alert.group',
      event: first?.event,
      rule: first?.rule,
      cause: first?.cause,
      severity: notifications.some(({ severity }) => severity === 'critical') ? 'critical' : 'warning',
      workspace_id: first?.tenant_id === null ? null : first?.workspace_id,
      period: first?.period,
      part,
      parts,
      alert_count: notifications.length,
      credits_change: sumOf(notifications),
      alerts: notifications,
      acknowledge_link: first?.event === 'closed' ? null : acknowledgeLink(route, notificationId),
      created_at: at,
      ...text,
      summary: `${inOneText(text)} ${largestWords(notifications)}`.trimEnd(),
    });
    return { notificationId, payload };
  });
}
