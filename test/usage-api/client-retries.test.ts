import { getEventListeners } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { systemRandomness } from '../../src/core/randomness.ts';
import * as api from '../../src/usage-api/public.ts';
import { rejection } from '../support/rejection.ts';
import { clockThat } from '../support/time/test-clock.ts';
import { createVirtualClock, type VirtualClock } from '../support/time/virtual-clock.ts';
import {
  abortedChunks,
  goodPage,
  releaseAfterEach,
  releasers,
  reset,
  setup,
  silent,
  truncated,
} from './client-setup.ts';
import {
  answer,
  clientOf,
  failure,
  item,
  page,
  type Reply,
  type ServiceDouble,
  startServiceOn,
} from './service-double.ts';

releaseAfterEach();

const NOW = 1_700_000_000_000;

/** Lets the deadline of 1,500 ms pass once the service has received so many requests. */
async function letTimeOut(clock: VirtualClock, { received }: ServiceDouble, requests: number): Promise<void> {
  await expect.poll(() => received.length).toBe(requests);
  await clock.advance(1_500);
}

/** Lets the wait before the next attempt pass, once it has begun. */
async function letBackOff(clock: VirtualClock): Promise<void> {
  await expect.poll(() => clock.waiting).toBe(1);
  await clock.advance(1_000);
}

describe('a retry', () => {
  it.each<[string, Reply]>([
    ['429', failure(429, 'slow down')],
    ['500', failure(500, '')],
    ['502', answer(502, '<html>')],
    ['503', failure(503, '')],
    ['504', failure(504, '')],
    ['a reset', reset],
    ['a body cut off before its content-length', truncated],
    ['a body cut off between chunks', abortedChunks],
    [
      'a gzip body cut off',
      answer(200, gzipSync(JSON.stringify(page([item()]))).subarray(0, 40), { 'content-encoding': 'gzip' }),
    ],
  ])('helps after %s', async (_, fault) => {
    const { service, client } = await setup([fault, fault, goodPage]);
    await expect(client.getWorkspaceUsage()).resolves.toMatchObject({ total_records: 1 });
    expect(service.received).toHaveLength(3);
    // Nothing of a broken-off answer may be joined with another one.
    expect(service.received.every(({ headers }) => headers.range === undefined)).toBe(true);
  });

  it('succeeds after a timeout', async () => {
    const half: Reply = (response) => {
      response.writeHead(200, { 'content-length': '5000' });
      response.write('{');
    };
    const clock = createVirtualClock(NOW);
    const { service, client } = await setup([silent, half, goodPage], { requestTimeoutMs: 1_500, clock });
    const result = client.getWorkspaceUsage();
    await letTimeOut(clock, service, 1);
    await letBackOff(clock);
    await letTimeOut(clock, service, 2);
    await letBackOff(clock);
    await expect(result).resolves.toMatchObject({ total_records: 1 });
    expect(service.received).toHaveLength(3);
  });

  it('is the last after four attempts, and the last error is thrown', async () => {
    const { service, client } = await setup([reset]);
    const error = await rejection(client.getWorkspaceUsage());
    expect(error).toBeInstanceOf(api.NetworkError);
    expect(error).toMatchObject({ code: 'network', status: null, retryable: true });
    expect(service.received).toHaveLength(5);
    service.replies = [silent];
    const clock = createVirtualClock(NOW);
    const hasty = clientOf(service.url, { retries: 1, requestTimeoutMs: 1_500, clock });
    releasers.push(() => hasty.close());
    const late = rejection(hasty.getWorkspaceUsage());
    await letTimeOut(clock, service, 6);
    await letBackOff(clock);
    await letTimeOut(clock, service, 7);
    await expect(late).resolves.toBeInstanceOf(api.TimeoutError);
    expect(service.received).toHaveLength(7);
  });

  it('has a new signature', async () => {
    let nowMs = 1_700_000_000_000;
    const { service, client } = await setup([failure(503, ''), goodPage], {
      clock: clockThat(() => (nowMs += 60_000)),
    });
    await client.getWorkspaceUsage();
    const [first, second] = service.received.map(({ headers }) => headers);
    expect(Number(second?.['x-valid-until'])).toBeGreaterThan(Number(first?.['x-valid-until']));
    expect(second?.['x-signature']).not.toBe(first?.['x-signature']);
  });

  it('waits for Retry-After', async () => {
    const { client } = await setup([failure(429, '', { 'retry-after': '0.3' }), goodPage]);
    const startedAt = performance.now();
    await client.getWorkspaceUsage();
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(295);
  });

  it('uses the given clock for waits and deadlines, and the given randomness', async () => {
    const clock = createVirtualClock(1_700_000_000_000);
    const randomness = { ...systemRandomness, fraction: () => 0.5 };
    const options = { clock, randomness, retryBaseMs: 4_000, retries: 1, requestTimeoutMs: 60_000 };
    const { service, client } = await setup([failure(503, ''), silent], options);
    const result = rejection(client.getWorkspaceUsage());
    await expect.poll(() => clock.waiting).toBe(1);
    expect(service.received).toHaveLength(1);
    await clock.advance(2_999);
    expect(service.received).toHaveLength(1);
    await clock.advance(1);
    await expect.poll(() => service.received.length).toBe(2);
    await clock.advance(60_000);
    await expect(result).resolves.toBeInstanceOf(api.TimeoutError);
  });

  it("is left to the caller for a long Retry-After, measured by the service's clock", async () => {
    const headers = { date: 'Sun, 01 Feb 2026 00:00:00 GMT', 'retry-after': 'Sun, 01 Feb 2026 00:02:00 GMT' };
    const { service, client } = await setup([failure(429, 'x', headers), failure(503, 'x', { 'retry-after': '60' })]);
    const limited = await rejection(client.getWorkspaceUsage());
    expect(limited).toMatchObject({ name: 'RateLimitedError', status: 429, retryAfterMs: 120_000 });
    const away = await rejection(client.getWorkspaceUsage());
    expect(away).toMatchObject({ name: 'RateLimitedError', status: 503, retryAfterMs: 60_000 });
    expect(service.received).toHaveLength(2);
  });

  it.each([
    ['503', failure(503, '')],
    ['a reset', reset],
  ])('is not done for a POST after %s', async (_, fault) => {
    const { service, client } = await setup([fault]);
    await rejection(client.createDashboard({ title: 'T' }));
    expect(service.received).toHaveLength(1);
    await rejection(client.generateEmbedToken({ dashboardId: 'd' }));
    expect(service.received).toHaveLength(2);
  });

  it('is made for a POST if the connection was refused', async () => {
    const { service } = await setup([goodPage]);
    await service.close();
    const port = Number(new URL(service.url).port);
    const client = clientOf(service.url, { retryBaseMs: 300, retries: 6 });
    releasers.push(() => client.close());
    const created = client.createDashboard({ title: 'T' });
    const later = await startServiceOn(port, answer(200, { success: true, data: { dashboard_id: 'd-9' } }));
    releasers.push(() => later.close());
    await expect(created).resolves.toMatchObject({ dashboard_id: 'd-9' });
  });
});

describe('cancelling', () => {
  it('ends a wait between attempts at once', async () => {
    const { service, client } = await setup([failure(503, '', { 'retry-after': '60' })], { maxRetryAfterMs: 60_000 });
    const controller = new AbortController();
    const result = rejection(client.getWorkspaceUsage({}, { signal: controller.signal }));
    await expect.poll(() => service.received.length).toBe(1);
    const abortedAt = performance.now();
    controller.abort(new Error('enough'));
    await expect(result).resolves.toMatchObject({ code: 'cancelled', retryable: false });
    expect(performance.now() - abortedAt).toBeLessThan(20_000);
    expect(service.received).toHaveLength(1);
  });

  it('ends a pending request, and one that waits for a connection', async () => {
    const { service, client } = await setup([silent], { concurrency: 1 });
    const controller = new AbortController();
    const calls = [1, 2].map(() => rejection(client.getWorkspaceUsage({}, { signal: controller.signal })));
    await expect.poll(() => service.received.length).toBe(1);
    controller.abort();
    for (const error of await Promise.all(calls)) expect(error).toBeInstanceOf(api.CancelledError);
  });

  it('ends a call without a connection, as its deadline does', async () => {
    // It accepts connections and never says a word of TLS.
    const sockets: Socket[] = [];
    const mute = createServer((socket) => sockets.push(socket));
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const { port } = mute.address() as AddressInfo;
    const clock = createVirtualClock(NOW);
    const client = clientOf(`https://127.0.0.1:${port}`, { retries: 0, requestTimeoutMs: 2_000, clock });
    releasers.push(async () => {
      for (const socket of sockets) socket.destroy();
      await client.close();
      mute.close();
    });
    const controller = new AbortController();
    const cancelled = rejection(client.getWorkspaceUsage({}, { signal: controller.signal }));
    const late = rejection(client.getWorkspaceUsage());
    await expect.poll(() => sockets.length).toBeGreaterThan(0);
    controller.abort();
    await expect(cancelled).resolves.toBeInstanceOf(api.CancelledError);
    await clock.advance(2_000);
    await expect(late).resolves.toBeInstanceOf(api.TimeoutError);
  });

  it('supports many calls with one signal, and leaves no listener on it', async () => {
    const warnings: Error[] = [];
    const collect = (warning: Error) => warnings.push(warning);
    process.on('warning', collect);
    const { client } = await setup([failure(503, ''), goodPage]);
    const { signal } = new AbortController();
    await Promise.all(Array.from({ length: 20 }, () => client.getWorkspaceUsage({}, { signal })));
    // Warnings are emitted on a later tick.
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', collect);
    expect(warnings).toEqual([]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('prevents the request if it comes first', async () => {
    const { service, client } = await setup([goodPage]);
    const error = await rejection(client.getWorkspaceUsage({}, { signal: AbortSignal.abort('no') }));
    expect(error).toMatchObject({ code: 'cancelled' });
    expect(service.received).toEqual([]);
  });
});
