import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { createWebhookChannel } from '../../../src/alerts/channels/webhook-channel.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { type Received, startReceiver } from './receiver.ts';
import { jumpFacts } from './sample.ts';

const secretOf = (text: string) => `whsec_${Buffer.from(text).toString('base64')}`;
const NEW = secretOf('the new key of the receiver');
const OLD = secretOf('the old key of the receiver');
const payload = renderPayload(
  buildNotification(jumpFacts({ tenant_id: 'Zoë 日本 \u202e', threshold: 2n ** 60n + 1n })),
);

/** What a receiver got that was sent with these secrets. */
async function sentWith(secrets: string[]): Promise<Received> {
  const receiver = await startReceiver((response) => response.writeHead(204).end());
  onTestFinished(receiver.close);
  const config = { name: 'hook', url: receiver.url, secrets, allowPrivate: true, timeoutMs: 5000 };
  const message = { notificationId: 'msg_7', payload, attempt: 1 };
  const channel = createWebhookChannel(config, { clock: systemClock });
  expect((await channel.deliver(message, { signal: new AbortController().signal })).outcome).toBe('delivered');
  return receiver.received[0] as Received;
}

const verify = (secret: string, { body, headers }: Received) =>
  new Webhook(secret).verify(body, headers as Record<string, string>);

test('an independent implementation of Standard Webhooks accepts the signature', async () => {
  const received = await sentWith([NEW]);
  expect(verify(NEW, received)).toMatchObject({ tenant_id: 'Zoë 日本 \u202e' });
  expect(() => verify(OLD, received)).toThrow();
  expect(() => verify(NEW, { ...received, body: Buffer.concat([received.body, Buffer.from(' ')]) })).toThrow();
  expect(() => verify(NEW, { ...received, headers: { ...received.headers, 'webhook-id': 'msg_8' } })).toThrow();
});

test('while a secret is changed it accepts the new one and the old one, and no other', async () => {
  const received = await sentWith([NEW, OLD]);
  expect(String(received.headers['webhook-signature']).split(' ')).toHaveLength(2);
  expect(verify(NEW, received)).toMatchObject({ alert_id: 'alert_1' });
  expect(verify(OLD, received)).toMatchObject({ alert_id: 'alert_1' });
  expect(() => verify(secretOf('some other key'), received)).toThrow();
});
