import { counted } from '../../core/text/counted.ts';
import { inertJson, inertText } from '../../core/text/inert-text.ts';
import { named } from './wording/names.ts';

/** The stored text of a notification that says that another channel is disabled. */
export function channelDisabledPayload(facts: {
  notificationId: string;
  channel: string;
  reason: string;
  /** ISO-8601 UTC. */
  disabledAt: string;
  /** Notifications that were waiting for it and are dead now. */
  dropped: number;
}): string {
  const { notificationId, channel, reason, disabledAt, dropped } = facts;
  return render({
    notification_id: notificationId,
    type: 'channel.disabled',
    severity: 'critical',
    channel,
    reason,
    undelivered: dropped,
    created_at: disabledAt,
    summary: `Channel ${named(channel)} is switched off: ${inertText(reason)}. ${counted(dropped, 'alert was', 'alerts were')} not delivered. When the receiver is back, run \`usage-ledger alerts replay --all-dead\`.`,
  });
}

/** The stored text of a notification that says that another channel has lost notifications. */
export function channelFailingPayload(facts: {
  notificationId: string;
  channel: string;
  reason: string;
  /** ISO-8601 UTC. */
  at: string;
  /** Notifications of the channel that were given up or still wait, and what the newest of them says. */
  undelivered: number;
  newest: string | null;
}): string {
  const { notificationId, channel, reason, at, undelivered, newest } = facts;
  const lost =
    undelivered === 0
      ? ''
      : ` ${counted(undelivered, 'alert was', 'alerts were')} not delivered; the newest is "${inertText(newest ?? '')}" Once it works, run \`usage-ledger alerts replay --all-dead\`.`;
  return render({
    notification_id: notificationId,
    type: 'channel.failing',
    severity: 'critical',
    channel,
    reason,
    undelivered,
    newest,
    created_at: at,
    summary: `Channel ${named(channel)} fails: ${inertText(reason)}.${lost}`,
  });
}

/** The text of a message that only tests a channel. */
export function testPayload(facts: { notificationId: string; channel: string; createdAt: string }): string {
  const { notificationId, channel, createdAt } = facts;
  return render({
    notification_id: notificationId,
    type: 'test',
    severity: 'warning',
    channel,
    created_at: createdAt,
    summary: `Test message of usage-ledger for channel ${named(channel)}: it works, and nobody has to do anything.`,
  });
}

function render(notice: Record<string, string | number | null>): string {
  return inertJson(JSON.stringify(notice));
}
