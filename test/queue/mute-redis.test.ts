import type { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type PrivateRedis, startPrivateRedis } from '../../src/queue/redis/private-redis.ts';
import type { SyncQueue } from '../../src/queue/sync-queue.ts';
import {
  begin,
  clientOf,
  openQueue,
  recordingLogger,
  removeFolder,
  temporaryFolder,
  uniqueLedgerId,
  until,
} from './support.ts';

let folder: string;
let redis: PrivateRedis;
let system: SyncQueue;
let client: Redis;
let back = 0;
const { logger, lines } = recordingLogger();

beforeEach(async () => {
  folder = temporaryFolder();
  redis = await startPrivateRedis({ dir: folder, logger });
  client = clientOf(redis.target);
  const settings = { heartbeatMs: 200 };
  system = await openQueue({
    ...{ ledgerId: uniqueLedgerId(), target: redis.target, logger, settings },
  });
  begin(system);
  await until('all connections', () => system.redisUp);
  back = 0;
  system.onRedisBack(() => {
    back += 1;
  });
});
afterEach(async () => {
  await system.stop({ deadlineMs: 500 });
  client.disconnect();
  await redis.close();
  removeFolder(folder);
});

describe('a Redis that refuses writes and breaks no connection is noticed, and so is its return', () => {
  test('when it is read-only', async () => {
    lines.length = 0;
    await client.config('SET', 'min-replicas-to-write', '0');
    await client.call('REPLICAOF', '127.0.0.1', '1');
    await until('the loss', () => !system.redisUp);
    expect(back).toBe(0);
    // Nothing is said twice.
    const notable = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error' || level === 'warn');
    const texts = notable.map(({ msg, queue, reason }) => `${msg} ${queue} ${reason}`);
    expect(texts.length).toBeGreaterThan(0);
    expect(texts).toEqual([...new Set(texts)]);
    await client.call('REPLICAOF', 'NO', 'ONE');
    await until('the return', () => back === 1);
    expect(system.redisUp).toBe(true);
  });

  test('when it is full', async () => {
    await client.config('SET', 'maxmemory', '1');
    await until('the loss', () => !system.redisUp);
    await client.config('SET', 'maxmemory', '0');
    await until('the return', () => back === 1);
  });

  test('when it is frozen', async () => {
    process.kill(redis.pid, 'SIGSTOP');
    try {
      await until('the loss', () => !system.redisUp);
    } finally {
      process.kill(redis.pid, 'SIGCONT');
    }
    await until('the return', () => back >= 1 && system.redisUp);
  });
});
