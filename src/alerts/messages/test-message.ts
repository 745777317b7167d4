import { inertJson } from '../../core/text/inert-text.ts';
import { named } from './facts/names.ts';

export function testPayload(facts: { notificationId: string; channel: string; createdAt: string }): string {
  const { notificationId, channel, createdAt } = facts;
  return inertJson(
    JSON.stringify({
      notification_id: notificationId,
      type: 'test',
      severity: 'warning',
      channel,
      created_at: createdAt,
      summary: `Test message of usage-ledger for channel ${named(channel)}: it works, and nobody has to do anything.`,
    }),
  );
}
