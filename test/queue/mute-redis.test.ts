import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { begin, clientOf, openQueue, privateRedis, recordingLogger, until } from './support.ts';

async function startQueue() {
  const { logger, lines } = recordingLogger();
  const redis = await privateRedis(logger, temporaryFolder());
  const client = clientOf(redis.target);
  const queue = await openQueue({ target: redis.target, logger, settings: { heartbeatMs: 200 } });
  begin(queue);
  await until('all connections', () => queue.redisUp);
  const seen = { back: 0 };
  queue.onRedisBack(() => {
    seen.back += 1;
  });
  return { redis, client, queue, lines, seen };
}

describe('a Redis that refuses writes and breaks no connection is noticed, and so is its return', () => {
  test('when it is read-only', async () => {
    const { client, queue, lines, seen } = await startQueue();
    lines.length = 0;
    await client.config('SET', 'min-replicas-to-write', '0');
    await client.call('REPLICAOF', '127.0.0.1', '1');
    await until('the loss', () => !queue.redisUp);
    expect(seen.back).toBe(0);
    // Nothing is said twice.
    const notable = lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error' || level === 'warn');
    const texts = notable.map(({ msg, queue: name, reason }) => `${msg} ${name} ${reason}`);
    expect(texts.length).toBeGreaterThan(0);
    expect(texts).toEqual([...new Set(texts)]);
    await client.call('REPLICAOF', 'NO', 'ONE');
    await until('the return', () => seen.back === 1);
    expect(queue.redisUp).toBe(true);
  });

  test('when it is full', async () => {
    const { client, queue, seen } = await startQueue();
    await client.config('SET', 'maxmemory', '1');
    await until('the loss', () => !queue.redisUp);
    await client.config('SET', 'maxmemory', '0');
    await until('the return', () => seen.back === 1);
  });

  test('when it is frozen', async () => {
    const { redis, queue, seen } = await startQueue();
    process.kill(redis.pid, 'SIGSTOP');
    try {
      await until('the loss', () => !queue.redisUp);
    } finally {
      process.kill(redis.pid, 'SIGCONT');
    }
    await until('the return', () => seen.back >= 1 && queue.redisUp);
  });
});
