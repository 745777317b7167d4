import type { ServerResponse } from 'node:http';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { HttpClient, type HttpClientOptions, readStart, readText, tryConnection } from '../../src/net/http-client.ts';
import { type Receiver, startReceiver } from '../alerts/channels/receiver.ts';
import { startConnectProxy } from '../support/net/connect-proxy.ts';
import { rejection } from '../support/rejection.ts';
import { testClock } from '../support/time/test-clock.ts';

async function receiver(answer: (response: ServerResponse) => unknown): Promise<Receiver> {
  const started = await startReceiver(answer);
  onTestFinished(() => started.close());
  return started;
}

function clientWith(options: Partial<HttpClientOptions> = {}): HttpClient {
  const client = new HttpClient({ clock: testClock(), ...options });
  onTestFinished(() => client.close());
  return client;
}

const text = ({ body }: { body: AsyncIterable<Buffer> }) => readText(body, 1000);

test('a response is passed with its status, headers, body and the wait of Retry-After', async () => {
  const { url, received } = await receiver((response) => {
    response.writeHead(503, { 'retry-after': '7', 'x-own': 'a' });
    response.end('busy');
  });
  const request = { method: 'POST' as const, url: new URL(`${url}?a=b`), headers: { 'x-mine': 'c' }, body: 'hello' };
  const found = await clientWith().send(request, async ({ status, headers, retryAfterMs, body }) => {
    return { status, own: headers['x-own'], retryAfterMs, body: await readText(body, 1000) };
  });
  expect(found).toEqual({ status: 503, own: 'a', retryAfterMs: 7000, body: 'busy' });
  expect(received).toMatchObject([{ method: 'POST', path: '/hook?a=b', headers: { 'x-mine': 'c' } }]);
});

test('a redirect is a response, and is not followed', async () => {
  const { url, received } = await receiver((response) => response.writeHead(307, { location: '/other' }).end());
  expect(await clientWith().send({ method: 'GET', url: new URL(url) }, async ({ status }) => status)).toBe(307);
  expect(received).toHaveLength(1);
});

test.each([
  ['headers', (response: ServerResponse) => void response],
  ['rest of the body', (response: ServerResponse) => void response.write('half')],
])('the deadline also ends a request whose %s never come', async (_part, answer) => {
  const { url } = await receiver(answer);
  const client = clientWith({ timeoutMs: 50, clock: systemClock });
  const request = { method: 'GET' as const, url: new URL(url) };
  expect(await rejection(client.send(request, text))).toMatchObject({
    code: 'timeout',
    message: 'no complete response within 50 ms',
    neverSent: false,
  });
});

test('the caller ends a request with the reason of its signal', async () => {
  const controller = new AbortController();
  const reason = new Error('the daemon stops');
  const { url } = await receiver(() => controller.abort(reason));
  const request = { method: 'GET' as const, url: new URL(url), signal: controller.signal };
  const client = clientWith({ timeoutMs: 5000 });
  expect(await rejection(client.send(request, text))).toBe(reason);
  expect(await rejection(client.send(request, text))).toBe(reason);
});

test('an address that is not public gets neither a connection nor a tunnel', async () => {
  const { url, received } = await receiver((response) => response.end());
  const proxy = await startConnectProxy(9);
  const options = { policy: { allowPrivate: false }, proxy: { url: proxy.url, noProxy: '' } };
  for (const target of [url, 'https://10.0.0.1/hook', 'https://[::ffff:10.0.0.1]/hook']) {
    const client = clientWith(options);
    const request = { method: 'GET' as const, url: new URL(target) };
    expect(await rejection(client.send(request, text)), target).toMatchObject({ code: 'address_refused' });
    const trial = tryConnection(new URL(target), { ...options, clock: testClock() });
    expect(await rejection(trial), target).toMatchObject({ code: 'address_refused', neverSent: true });
  }
  expect(received).toEqual([]);
  expect(proxy.tunnels).toEqual([]);
});

test('a trial connects and sends nothing', async () => {
  const { url, received } = await receiver((response) => response.end());
  const client = clientWith({ timeoutMs: 5000 });
  await client.connect(new URL(url));
  await client.send({ method: 'GET', url: new URL(url) }, text);
  expect(received.map(({ method }) => method)).toEqual(['GET']);
});

test('a connection is kept for the next request, unless the request is the last one', async () => {
  const { url, received } = await receiver((response) => response.end('ok'));
  const client = clientWith();
  const send = (isLast: boolean) => client.send({ method: 'GET', url: new URL(url), isLast }, text);
  await send(false);
  await send(true);
  expect(received.map(({ headers }) => headers.connection)).toEqual(['keep-alive', 'close']);
});

test('a body is read up to its limit', async () => {
  const { url } = await receiver((response) => response.end('x'.repeat(100)));
  const read = (reader: (body: AsyncIterable<Buffer>) => Promise<string>) =>
    clientWith().send({ method: 'GET', url: new URL(url) }, ({ body }) => reader(body));
  expect(await read((body) => readText(body, 100))).toHaveLength(100);
  expect(await read((body) => readStart(body, 7))).toBe('xxxxxxx');
  expect(await rejection(read((body) => readText(body, 99)))).toMatchObject({
    code: 'response_too_long',
    message: 'the response is longer than 99 bytes',
  });
});
