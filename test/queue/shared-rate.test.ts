import type { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.ts';
import { privateRedisFolder } from '../../src/daemon/open-queue.ts';
import { startPrivateRedis } from '../../src/queue/redis/private-redis.ts';
import { takeTurns } from '../../src/queue/redis/shared-rate.ts';
import { HostPacer } from '../../src/sync/pacer.ts';
import { eventually } from '../support/eventually.ts';
import { startFixture } from '../support/sandbox-fixture.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { clientOf, recordingLogger } from './support.ts';

const SIGNAL = new AbortController().signal;

async function startRedis(): Promise<Redis> {
  const redis = await startPrivateRedis({ dir: temporaryFolder(), logger: recordingLogger().logger });
  const client = clientOf(redis.target);
  client.on('error', () => undefined);
  onTestFinished(async () => {
    client.disconnect();
    await redis.close();
  });
  await client.ping();
  return client;
}

function pacerOf(client: Redis, host: string, perSecond: number): HostPacer {
  return new HostPacer(perSecond, (wanted) => takeTurns(client, host, wanted, perSecond));
}

/** Milliseconds that so many requests of each take side by side. */
async function elapsed(pacers: HostPacer[], requests: number): Promise<number> {
  const startedAtMs = performance.now();
  const walk = async (pacer: HostPacer): Promise<void> => {
    const pace = pacer.lane('ws');
    for (let sent = 0; sent < requests; sent += 1) await pace(SIGNAL);
  };
  await Promise.all(pacers.map(walk));
  return performance.now() - startedAtMs;
}

test('daemons on one Redis keep to the rate of a host together, and hosts do not share theirs', async () => {
  const client = await startRedis();
  const daemons = ['one.test', 'one.test', 'one.test'].map((host) => pacerOf(client, host, 200));
  // 180 requests at 200 a second, less a burst of 100 ms; each for itself would take 200 ms.
  expect(await elapsed(daemons, 60)).toBeGreaterThanOrEqual(780);
  const turns = (host: string) => takeTurns(client, host, 1, 0.01);
  for (const host of ['a.test', 'b.test']) expect(await turns(host)).toMatchObject({ granted: 1 });
  expect(await turns('a.test')).toMatchObject({ granted: 0 });
});

test('a rate of less than one a second lets requests through, too', async () => {
  const client = await startRedis();
  expect(await takeTurns(client, 'slow.test', 5, 0.01)).toEqual({ granted: 1, waitMs: 0 });
  const { granted, waitMs } = (await takeTurns(client, 'slow.test', 5, 0.01)) ?? { granted: -1, waitMs: 0 };
  expect(granted).toBe(0);
  expect(waitMs).toBeGreaterThan(50_000);
});

test('a turn that was given out before the clock of Redis was set back keeps nobody waiting', async () => {
  const client = await startRedis();
  expect(await takeTurns(client, 'one.test', 1, 10)).toMatchObject({ granted: 1 });
  const [key = ''] = await client.keys('usage-ledger:rate:*');
  await client.set(key, String((Date.now() + 9 * 3_600_000) * 1000));
  const { granted, waitMs } = (await takeTurns(client, 'one.test', 1, 10)) ?? { granted: -1, waitMs: 0 };
  expect(granted).toBe(0);
  expect(waitMs).toBeLessThanOrEqual(100);
});

test('without Redis each keeps to the rate for itself', async () => {
  const client = await startRedis();
  const pacer = pacerOf(client, 'one.test', 200);
  await elapsed([pacer], 5);
  client.disconnect();
  const tookMs = await elapsed([pacer], 60);
  expect(tookMs).toBeGreaterThanOrEqual(180);
  expect(tookMs).toBeLessThan(30_000);
});

test('a daemon takes the turns of its host from Redis', async () => {
  const fixture = await startFixture({ thread: true, workspaces: [{ generate: { seed: 3, tenants: 5, months: 1 } }] });
  const daemon = await startDaemon(fixture.context);
  onTestFinished(() => daemon.stop());
  await eventually(() =>
    expect(fixture.view().rows('SELECT status FROM finance_runs')).toEqual([{ status: 'applied' }]),
  );
  const client = clientOf({ kind: 'socket', path: `${privateRedisFolder(fixture.config.ledger.path)}/redis.sock` });
  onTestFinished(() => client.disconnect());
  expect(await client.keys('usage-ledger:rate:*')).toEqual([`usage-ledger:rate:${new URL(fixture.sandbox.url).host}`]);
});
