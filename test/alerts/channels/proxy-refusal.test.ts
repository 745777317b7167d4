import { expect, test } from 'vitest';
import { createWebhookChannel } from '../../../src/alerts/channels/webhook-channel.ts';
import { testPayload } from '../../../src/alerts/messages/test-message.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { startConnectProxy } from '../../support/net/connect-proxy.ts';

// cspell:ignore cret

const createdAt = '2026-03-20T12:00:00.000Z';
const message = {
  notificationId: 'msg_1',
  payload: testPayload({ notificationId: 'msg_1', channel: 'hook', createdAt }),
  attempt: 1,
};

test.each<[status: number, isDenial: boolean, words: RegExp]>([
  [401, true, /\(401\): its user or password is missing or wrong; set both in `proxy` or HTTPS_PROXY/],
  [403, true, /\(403\): it does not allow this connection; .*allow CONNECT.*NO_PROXY/],
  [405, true, /\(405\): it does not allow CONNECT; /],
  [407, true, /\(407\): its user or password is missing or wrong; set both in `proxy` or HTTPS_PROXY/],
  [429, false, /\(429\): it has had too many requests; /],
  [502, false, /\(502\): it cannot reach that host; /],
  [504, false, /\(504\): it cannot reach that host; /],
  [418, false, /\(418\): unexpected status; check the address of the proxy, and its log/],
])(
  'a proxy that answers CONNECT with %i is named with the remedy, and nothing was sent',
  async (status, isDenial, words) => {
    const proxy = await startConnectProxy(9, status);
    const settings = { url: proxy.url.replace('//', '//me:s3cret@'), noProxy: '' };
    const config = { name: 'hook', url: 'https://hooks.test/x', secrets: [], allowPrivate: false, timeoutMs: 5_000 };
    const channel = createWebhookChannel(config, { clock: systemClock, proxy: settings });
    const result = await channel.deliver(message, { signal: new AbortController().signal });
    expect(result).toEqual({
      ...{ outcome: 'retry', retryAfterMs: null, unknown: false, isDenial },
      reason: expect.stringMatching(words),
    });
    expect(JSON.stringify(result)).toMatch(/the proxy refused CONNECT to hooks\.test:443/);
    expect(JSON.stringify(result)).not.toContain('s3cret');
  },
);
