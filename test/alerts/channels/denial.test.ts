import { expect, test } from 'vitest';
import type { Channel, DeliveryResult } from '../../../src/alerts/channels/channel.ts';
import { type ChannelReport, deliverNotification } from '../../../src/alerts/channels/deliver.ts';
import { clockThat } from '../../support/time/test-clock.ts';

/** What one attempt that ends so, after some failures, says of its channel. */
async function reportAfter(result: DeliveryResult, failures: number): Promise<ChannelReport['says'] | null> {
  const reports: (ChannelReport | null)[] = [];
  const channel: Channel = { name: 'mail', type: 'email', deliver: async () => result };
  const claimed = { notificationId: 'msg_1', channel: 'mail', payload: '{}', attempts: failures, failures, members: 1 };
  const outcome = await deliverNotification(
    {
      access: {
        whyDisabled: () => null,
        claim: async () => ({ ...claimed, claimedAt: '2026-03-20T12:00:00.000Z' }),
        record: async ({ about }) => void reports.push(about),
      },
      channels: new Map([['mail', channel]]),
      clock: clockThat(() => 0),
      random: () => 0,
    },
    'msg_1',
    new AbortController().signal,
  );
  expect(outcome.state).toBe('pending');
  return reports[0]?.says ?? null;
}

const RETRY = { outcome: 'retry', reason: 'HTTP 503', retryAfterMs: null, unknown: false } as const;

test('a missing right is reported to the other channels at its first refusal, another failure at the fifth', async () => {
  const denials = await Promise.all(
    [0, 1, 3, 4, 9].map((failures) => reportAfter({ ...RETRY, isDenial: true }, failures)),
  );
  expect(denials).toEqual(['fails', 'fails', 'fails', 'fails', 'fails']);
  const others = await Promise.all([0, 1, 3, 4, 9].map((failures) => reportAfter(RETRY, failures)));
  expect(others).toEqual([null, null, null, 'fails', null]);
});
