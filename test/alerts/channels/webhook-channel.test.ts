import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { DeliveryResult } from '../../../src/alerts/channels/channel.ts';
import { createWebhookChannel } from '../../../src/alerts/channels/webhook-channel.ts';
import { buildNotification, renderPayload } from '../../../src/alerts/messages/notification.ts';
import { selfSigned } from '../../support/net/self-signed.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { type Received, type Receiver, startReceiver } from './receiver.ts';
import { jumpFacts } from './sample.ts';

const NOW_MS = Date.parse('2026-02-20T12:00:00.700Z');
const NOW_SECONDS = 1_771_588_800;
const SECRET_BYTES = Buffer.from('twenty-four bytes of key');
const SECRET = `whsec_${SECRET_BYTES.toString('base64')}`;
const payload = renderPayload(buildNotification(jumpFacts({ tenant_id: 'Zoë', threshold: 9_007_199_254_740_993n })));

const releasers: Array<() => Promise<void>> = [];
afterEach(async () => {
  for (const release of releasers.splice(0).reverse()) await release();
});

async function receiver(answer: (response: ServerResponse) => void): Promise<Receiver> {
  const started = await startReceiver(answer);
  releasers.push(started.close);
  return started;
}

interface SendOptions {
  secrets?: string[];
  nowMs?: number;
  timeoutMs?: number;
  signal?: AbortSignal;
  notificationId?: string;
}

function send(url: string, options: SendOptions = {}): Promise<DeliveryResult> {
  const { secrets = [SECRET], timeoutMs = 10_000, nowMs = NOW_MS } = options;
  const config = { name: 'hook', url, secrets, timeoutMs, allowPrivate: true };
  return createWebhookChannel(config, { clock: clockThat(() => nowMs) }).deliver(
    { notificationId: options.notificationId ?? 'msg_0001', payload, attempt: 1 },
    { signal: options.signal ?? new AbortController().signal },
  );
}

async function answered(status: number, headers: Record<string, string> = {}): Promise<DeliveryResult> {
  const { url } = await receiver((response) => response.writeHead(status, headers).end('{}'));
  return send(url);
}

describe('what a webhook receiver gets', () => {
  it('is a POST of exactly the stored bytes', async () => {
    const { url, received } = await receiver((response) => response.writeHead(204).end());
    expect(await send(url)).toEqual({ outcome: 'delivered', detail: 'HTTP 204' });
    expect(received).toHaveLength(1);
    expect(received[0]).toMatchObject({ method: 'POST', path: '/hook' });
    expect(received[0]?.headers['content-type']).toBe('application/json');
    expect(received[0]?.body).toEqual(Buffer.from(payload, 'utf8'));
  });

  it('carries a signature that the receiver can recompute from what arrived', async () => {
    const { url, received } = await receiver((response) => response.end());
    await send(url);
    const [{ headers, body }] = received as [Received];
    expect(headers['webhook-id']).toBe('msg_0001');
    expect(headers['webhook-timestamp']).toBe(String(NOW_SECONDS));
    const signed = Buffer.concat([Buffer.from(`msg_0001.${NOW_SECONDS}.`), body]);
    const expected = createHmac('sha256', SECRET_BYTES).update(signed).digest('base64');
    expect(headers['webhook-signature']).toBe(`v1,${expected}`);
  });

  it('is signed afresh with the time of each attempt, under one id', async () => {
    const { url, received } = await receiver((response) => response.writeHead(503).end());
    await send(url);
    await send(url, { nowMs: NOW_MS + 60_000 });
    const [first, second] = received.map(({ headers }) => headers);
    expect(second?.['webhook-id']).toBe(first?.['webhook-id']);
    expect(second?.['webhook-timestamp']).toBe(String(NOW_SECONDS + 60));
    expect(second?.['webhook-signature']).not.toBe(first?.['webhook-signature']);
  });

  it('has no signature when no secret is configured', async () => {
    const { url, received } = await receiver((response) => response.end());
    expect((await send(url, { secrets: [] })).outcome).toBe('delivered');
    expect(received[0]?.headers['webhook-id']).toBe('msg_0001');
    expect(received[0]?.headers).not.toHaveProperty('webhook-signature');
  });
});

describe('the outcome of a webhook attempt', () => {
  it.each([200, 201, 202, 204, 299])('is delivered for %i', async (status) => {
    expect(await answered(status)).toEqual({ outcome: 'delivered', detail: `HTTP ${status}` });
  });

  it.each([404, 408, 429, 500, 502, 503, 504, 599])('is a retry for %i', async (status) => {
    const unknown = [408, 502, 504].includes(status);
    expect(await answered(status)).toEqual({ outcome: 'retry', reason: `HTTP ${status}`, retryAfterMs: null, unknown });
  });

  it('is too large for 413', async () => {
    expect(await answered(413)).toEqual({ outcome: 'too_large', reason: 'HTTP 413' });
  });

  it.each([400, 401, 403, 405, 409, 422])('is rejected for %i', async (status) => {
    expect(await answered(status)).toEqual({ outcome: 'rejected', reason: `HTTP ${status}` });
  });

  it('is disabled for 410', async () => {
    expect(await answered(410)).toEqual({
      outcome: 'disabled',
      reason: 'HTTP 410: the receiver wants no more notifications',
    });
  });

  it.each([301, 302, 303, 307, 308])('is rejected for redirect %i, which is not followed', async (status) => {
    const elsewhere = await receiver((response) => response.end());
    expect(await answered(status, { location: elsewhere.url })).toEqual({
      outcome: 'rejected',
      reason: `HTTP ${status}: redirects are not followed`,
    });
    expect(elsewhere.received).toEqual([]);
  });

  it.each([
    ['120', 120_000],
    ['0', 0],
    [' 7 ', 7000],
    ['Fri, 20 Feb 2026 12:01:00 GMT', 59_300],
    ['Friday, 20-Feb-26 12:01:00 GMT', 59_300],
    ['Fri, 20 Feb 2026 11:00:00 GMT', 0],
    ['99999999999', 24 * 3_600_000],
    ['-5', null],
    ['1.5', 1_500],
    ['soon', null],
    ['2026-02-20', null],
  ])('waits as Retry-After says: %j', async (header, retryAfterMs) => {
    for (const status of [429, 503]) {
      expect(await answered(status, { 'retry-after': header })).toMatchObject({ outcome: 'retry', retryAfterMs });
    }
  });

  it('is a retry when nobody listens', async () => {
    const { url, close } = await startReceiver((response) => response.end());
    await close();
    expect(await send(url)).toEqual({
      outcome: 'retry',
      reason: 'the connection failed: connection refused (ECONNREFUSED); check the address, and that the server runs',
      retryAfterMs: null,
      unknown: false,
    });
  });

  it('is a retry when the certificate of the receiver cannot be verified, and nothing was sent to it', async () => {
    let calls = 0;
    const server = createHttpsServer(selfSigned(), (_request, response) => {
      calls += 1;
      response.end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    releasers.push(async () => {
      server.close();
      await once(server, 'close');
    });
    const { port } = server.address() as AddressInfo;
    expect(await send(`https://127.0.0.1:${port}/hook`)).toEqual({
      outcome: 'retry',
      reason: expect.stringMatching(
        /^the connection failed: .* \(DEPTH_ZERO_SELF_SIGNED_CERT\); .*ca_file.*NODE_EXTRA_CA_CERTS/,
      ),
      retryAfterMs: null,
      unknown: false,
    });
    expect(calls).toBe(0);
  });

  it('is a retry when the connection breaks before the answer', async () => {
    const { url } = await receiver((response) => response.destroy());
    expect(await send(url)).toMatchObject({ outcome: 'retry', retryAfterMs: null, unknown: true });
  });

  it('is a retry when no answer comes in time', async () => {
    const { url } = await receiver(() => {});
    expect(await send(url, { timeoutMs: 50 })).toEqual({
      outcome: 'retry',
      reason: 'no complete response within 50 ms',
      retryAfterMs: null,
      unknown: true,
    });
  });

  it('is cancelled by the caller, before or during the call', async () => {
    const controller = new AbortController();
    const { url } = await receiver(() => controller.abort());
    const cancelled = { outcome: 'cancelled' };
    expect(await send(url, { signal: controller.signal })).toEqual(cancelled);
    expect(await send(url, { signal: controller.signal })).toEqual(cancelled);
  });

  it('is rejected when the notification cannot be put into a request', async () => {
    const { url, received } = await receiver((response) => response.end());
    expect(await send(url, { notificationId: 'msg_\r\nx: y' })).toMatchObject({ outcome: 'rejected' });
    expect(received).toEqual([]);
  });

  it('is decided by the status even when the body never ends', async () => {
    const { url } = await receiver((response) => response.writeHead(200).write('x'));
    expect(await send(url, { timeoutMs: 2_000 })).toEqual({ outcome: 'delivered', detail: 'HTTP 200' });
  });

  it('is decided by the status even when the body breaks off', async () => {
    const { url } = await receiver((response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('x', () => response.destroy());
    });
    expect(await send(url)).toEqual({ outcome: 'delivered', detail: 'HTTP 200' });
  });

  it('does not wait for the rest of a long body', async () => {
    let cut: Promise<unknown> = Promise.resolve();
    const { url } = await receiver((response) => {
      cut = once(response, 'close');
      response.writeHead(500).write(Buffer.alloc(8192));
    });
    expect(await send(url)).toMatchObject({ outcome: 'retry', reason: 'HTTP 500' });
    await cut;
  });

  it('never tells the secret or the signature, not even when the receiver sends them back', async () => {
    const { url, received } = await receiver((response) => {
      const signature = String(received[0]?.headers['webhook-signature']);
      response.writeHead(400, signature, { 'x-echo': signature }).end(`${signature} ${SECRET}`);
    });
    expect(await send(url)).toEqual({ outcome: 'rejected', reason: 'HTTP 400' });
    expect(received[0]?.headers['webhook-signature']).toMatch(/^v1,/);
  });
});

describe('the address of a webhook', () => {
  const TARGET = { name: 'hook', secrets: [], allowPrivate: false, timeoutMs: 10_000 };
  const create = (url: string) => createWebhookChannel({ ...TARGET, url }, { clock: clockThat(() => NOW_MS) });

  it.each([
    'https://example.com/hook',
    'http://localhost:8080/',
    'http://127.0.0.1/',
    'http://127.8.9.1/',
    'http://[::1]:1/',
  ])('may be %s', (url) => {
    expect(create(url)).toMatchObject({ name: 'hook', type: 'webhook' });
  });

  it.each([
    'http://example.com/token-abc',
    'http://10.0.0.1/token-abc',
    'http://127.0.0.1.example.com/token-abc',
    'http://localhost.example.com/token-abc',
    'http://127.0.0.1@example.com/token-abc',
    'https://user:pass@example.com/token-abc',
    'https://user@example.com/token-abc',
    'https://:pass@example.com/token-abc',
    'ftp://127.0.0.1/token-abc',
    'token-abc',
  ])('may not be %s, and the refusal does not show it', (url) => {
    expect(() => create(url)).toThrowError(
      expect.objectContaining({ code: 'channel_url_refused', message: expect.not.stringContaining('token-abc') }),
    );
  });

  it('is refused together with an unusable secret before anything is sent', () => {
    const target = { ...TARGET, url: 'https://example.com/', secrets: ['fine', 'whsec_'] };
    expect(() => createWebhookChannel(target, { clock: clockThat(() => NOW_MS) })).toThrowError(
      expect.objectContaining({ code: 'bad_webhook_secret' }),
    );
  });
});
