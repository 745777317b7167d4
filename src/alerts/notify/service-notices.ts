import { counted } from '../../core/text/counted.ts';
import { inertJson, inertText } from '../../core/text/inert-text.ts';

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
  const name = inertText(JSON.stringify(channel));
  return render({
    notification_id: notificationId,
    type: 'channel.disabled',
    severity: 'critical',
    channel,
    reason,
    waiting_dropped: dropped,
    created_at: disabledAt,
    summary: `Alert channel ${name} is disabled: ${inertText(reason)}. Nothing is sent to it until its notifications are replayed with \`usage-ledger alerts replay\`.`,
  });
}

/** The stored text of a notification that says that another channel has lost notifications. */
export function channelFailingPayload(facts: {
  notificationId: string;
  channel: string;
  reason: string;
  /** ISO-8601 UTC. */
  at: string;
  /** Notifications of the channel that are dead. */
  dead: number;
}): string {
  const { notificationId, channel, reason, at, dead } = facts;
  const name = inertText(JSON.stringify(channel));
  const count = counted(dead, 'notification is dead', 'notifications are dead');
  return render({
    notification_id: notificationId,
    type: 'channel.failing',
    severity: 'critical',
    channel,
    reason,
    dead_letters: dead,
    created_at: at,
    summary: `Alert channel ${name} does not take what is sent to it: ${inertText(reason)}. ${count}; \`usage-ledger alerts replay\` lists them.`,
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
    summary: `Test message of usage-ledger for channel ${inertText(JSON.stringify(channel))}: it works, and nobody has to do anything.`,
  });
}

function render(notice: Record<string, string | number>): string {
  return inertJson(JSON.stringify(notice));
}
