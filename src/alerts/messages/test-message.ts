import { inertJson } from '../../core/text/inert-text.ts';
import { named } from './facts/names.ts';
import { inOneText } from './message.ts';

export function testPayload(facts: { notificationId: string; channel: string; createdAt: string }): string {
  const { notificationId, channel, createdAt } = facts;
  const text = {
    title: `Test message from usage-ledger for channel ${named(channel)}`,
    lines: ['The channel works. No action is needed.'],
  };
  return inertJson(
    JSON.stringify({
      notification_id: notificationId,
      type: 'test',
      severity: 'warning',
      channel,
      created_at: createdAt,
      ...text,
      summary: inOneText(text),
    }),
  );
}
