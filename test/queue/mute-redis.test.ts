import { describe, expect, test } from 'vitest';
import { until } from './support.ts';
import { startQueue } from './watched-queue.ts';

describe('a Redis that refuses writes without breaking connections is detected, and so is its recovery', () => {
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
});
