import { describe, test } from 'vitest';
import { until } from './support.ts';
import { startQueue } from './watched-queue.ts';

describe('a Redis that refuses writes without breaking connections is detected, and so is its recovery', () => {
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
