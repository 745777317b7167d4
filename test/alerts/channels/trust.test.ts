import { expect, test } from 'vitest';
import { createEmailChannel } from '../../../src/alerts/channels/email-channel.ts';
import { createWebhookChannel } from '../../../src/alerts/channels/webhook-channel.ts';
import { testPayload } from '../../../src/alerts/messages/test-message.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { startConnectProxy, startTlsServer } from '../../support/net/connect-proxy.ts';
import { privateAuthority } from '../../support/net/self-signed.ts';
import { startMailServer } from './mail-server.ts';

const PAYLOAD = testPayload({ notificationId: 'msg_1', channel: 'hook', createdAt: '2026-03-20T12:00:00.000Z' });
const signal = new AbortController().signal;
const message = { notificationId: 'msg_1', payload: PAYLOAD, attempt: 1 };

function webhook(url: string, ca: string | undefined, allowPrivate: boolean, proxy?: { url: string; noProxy: string }) {
  const config = {
    name: 'hook',
    url,
    secrets: [],
    allowPrivate,
    timeoutMs: 5_000,
    ...(ca === undefined ? {} : { ca }),
  };
  return createWebhookChannel(config, { clock: systemClock, proxy }).deliver(message, { signal });
}

test('a receiver with a private authority is refused with a remedy, and told with ca_file', async () => {
  const { ca, server } = privateAuthority();
  const { port } = await startTlsServer(server, '');
  const url = `https://localhost:${port}/hook`;
  expect(await webhook(url, undefined, true)).toMatchObject({
    outcome: 'retry',
    reason: expect.stringMatching(/UNABLE_TO_VERIFY_LEAF_SIGNATURE.*ca_file.*NODE_EXTRA_CA_CERTS/),
  });
  expect(await webhook(url, ca, true)).toMatchObject({ outcome: 'delivered' });
});

test('a receiver is told through the tunnel of a proxy; an address that is not public stays refused', async () => {
  const { ca, server } = privateAuthority('hooks.test');
  const { port, paths } = await startTlsServer(server, '');
  const { url, tunnels } = await startConnectProxy(port);
  const proxy = { url, noProxy: '' };
  expect(await webhook('https://hooks.test/hook', ca, false, proxy)).toMatchObject({ outcome: 'delivered' });
  expect(paths).toEqual(['/hook']);
  expect(tunnels.map(({ target }) => target)).toEqual(['hooks.test:443']);
  expect(await webhook('https://10.0.0.1/hook', ca, false, proxy)).toMatchObject({
    outcome: 'rejected',
    reason: expect.stringContaining('not public'),
  });
  expect(tunnels).toHaveLength(1);
});

test('a mail server with a private authority is refused with a remedy, and used with ca_file', async () => {
  const { server } = privateAuthority('mail.test');
  const mail = await startMailServer({ ...server, secure: true });
  const config = {
    ...{ name: 'mail', host: 'mail.test', port: mail.port, tls: 'implicit' as const, allowInsecure: false },
    ...{ login: null, from: 'a@example.com', to: ['b@example.com'], allowPrivate: true, timeoutMs: 5_000 },
  };
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
  const refused = await createEmailChannel(config, { resolve }).deliver(message, { signal });
  expect(refused).toMatchObject({ outcome: 'retry', reason: expect.stringMatching(/ca_file.*NODE_EXTRA_CA_CERTS/) });
  const trusted = privateAuthority('mail.test');
  const known = await startMailServer({ ...trusted.server, secure: true });
  const channel = createEmailChannel({ ...config, port: known.port, ca: trusted.ca }, { resolve });
  expect(await channel.deliver(message, { signal })).toMatchObject({ outcome: 'delivered' });
});
