import { gzipSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import type { UsageApiClient, UsageApiClientOptions } from '../../../src/usage-api/client.ts';
import { PageMemory } from '../../../src/usage-api/http/page-memory.ts';
import { eventually } from '../../support/eventually.ts';
import { rejection } from '../../support/rejection.ts';
import { answer, clientOf, startService } from '../service-double.ts';

const LONG = Buffer.alloc(1024 * 1024, ' ');

test('permits are granted in the order of the requests, and an abort ends the wait', async () => {
  const memory = new PageMemory(1, 1);
  const first = await memory.acquire();
  const order: string[] = [];
  const stop = new AbortController();
  const waiting = memory.acquire(stop.signal);
  const second = memory.acquire().then((lease) => {
    order.push('second');
    return lease;
  });
  stop.abort(new Error('stopped'));
  expect((await rejection(waiting)).message).toBe('stopped');
  expect(order).toEqual([]);
  first.release();
  first.release();
  (await second).release();
  expect(order).toEqual(['second']);
});

test('a lease that is released while it waits for a large permit takes none', async () => {
  const memory = new PageMemory(3, 1);
  const [holder, quitter, next] = await Promise.all([memory.acquire(), memory.acquire(), memory.acquire()]);
  await holder.grow();
  const given = quitter.grow().catch(() => 'gave up');
  quitter.release();
  expect(await given).toBe('gave up');
  const grown = next.grow();
  holder.release();
  await grown;
});

test.each(['plain', 'gzip'])(
  'of long %s answers only so many are received at a time, whichever client asks',
  async (form) => {
    const { url, begun } = await serve(form === 'gzip' ? gzipSync(LONG) : LONG, form === 'gzip');
    const memory = new PageMemory(100, 2);
    const clients = ['a', 'b', 'c'].map((id) => opened(url, { workspaceId: id, memory }));
    const pages = clients.flatMap((client) => [1, 2].map((page) => client.fetchUsagePage({ page })));
    const arrived: { release(): void }[] = [];
    for (const page of pages) void page.then((raw) => arrived.push(raw));
    await eventually(() => expect([begun(), arrived.length]).toEqual([6, 2]));
    // A turn of the event loop for each of the rest to show that it does not come.
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(arrived.length).toBe(2);
    for (let done = 0; done < 6; done += 1) {
      await eventually(() => expect(arrived.length).toBeGreaterThan(done));
      arrived[done]?.release();
    }
    expect((await Promise.all(pages)).every(({ body }) => Buffer.concat(body).length === LONG.length)).toBe(true);
  },
);

test('a gzip body with a false length waits for memory like any other, and no body is decoded beyond the limit', async () => {
  const packed = gzipSync(LONG);
  const lying = Buffer.from(packed);
  lying.writeUInt32LE(1000, lying.length - 4);
  const memory = new PageMemory(10, 1);
  const holder = await memory.acquire();
  await holder.grow();
  const liar = await serve(lying, true);
  const fetched = rejection(opened(liar.url, { memory }).fetchUsagePage({}));
  await eventually(() => expect(liar.begun()).toBe(1));
  holder.release();
  expect(await fetched).toMatchObject({ code: 'invalid_response' });
  const honest = await serve(packed, true);
  const client = opened(honest.url, { maxBodyBytes: 200_000 });
  expect((await rejection(client.fetchUsagePage({}))).message).toContain('longer than 200000 bytes');
});

function opened(url: string, options: Partial<UsageApiClientOptions>): UsageApiClient {
  const client = clientOf(url, { retries: 0, ...options });
  onTestFinished(() => client.close());
  return client;
}

async function serve(body: Buffer, packed: boolean): Promise<{ url: string; begun: () => number }> {
  const service = await startService(answer(200, body, packed ? { 'content-encoding': 'gzip' } : {}));
  onTestFinished(() => service.close());
  return { url: service.url, begun: () => service.received.length };
}
