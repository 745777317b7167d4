import { describe, expect, test } from 'vitest';
import { describeTarget } from '../../src/queue/redis/target.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { begin, openQueue, privateRedis, recordingLogger, until } from './support.ts';

// cspell:ignore notaport

const job = (slot: string) => ({ workspaceId: 'ws', slot, kind: 'scheduled' as const, attempt: 1 });

describe('while Redis is away', () => {
  test('enqueueing fails fast with a retryable error, and the worker continues once Redis is back', async () => {
    const { logger, lines } = recordingLogger();
    const folder = temporaryFolder();
    const redis = await privateRedis(logger, folder);
    const seen: string[] = [];
    const handle = async (one: { slot: string }) => void seen.push(one.slot);
    const opened = await openQueue({ target: redis.target, logger, handle });
    begin(opened);
    let back = 0;
    opened.onRedisBack(() => {
      back += 1;
    });
    await opened.addSync(job('2026-03-01T10:00:00.000Z'));
    await until('the first job', () => seen.length === 1);

    await redis.close();
    await until('the loss to be noticed', () => !opened.redisUp);
    const asked = performance.now();
    const attempts = await Promise.allSettled([
      opened.addSync(job('2026-03-01T10:15:00.000Z')),
      opened.counts(),
      opened.ping(),
    ]);
    expect(performance.now() - asked).toBeLessThan(25_000);
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({ status: 'rejected', reason: { code: 'redis_unavailable', retryable: true } });
    }

    await privateRedis(logger, folder);
    await until('the outage to be over', () => back === 1);
    await opened.addSync(job('2026-03-01T10:30:00.000Z'));
    await until('the worker to go on', () => seen.length === 2);
    expect(seen[1]).toBe('2026-03-01T10:30:00.000Z');
    expect(lines.filter((line) => line.includes('Redis is not available'))).toHaveLength(1);
    expect(lines.filter((line) => line.includes('Redis is back'))).toHaveLength(1);
  });

  test('a handler continues, and stopping returns by its deadline', async () => {
    const { logger } = recordingLogger();
    const redis = await privateRedis(logger, temporaryFolder());
    const { promise: begun, resolve: begins } = Promise.withResolvers<void>();
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    let ended = false;
    const handle = async () => {
      begins();
      await finished;
      ended = true;
    };
    const opened = await openQueue({ target: redis.target, logger, handle });
    begin(opened);
    await opened.addSync(job('2026-03-01T10:00:00.000Z'));
    await begun;
    await redis.close();
    await until('the loss to be noticed', () => !opened.redisUp);
    const asked = performance.now();
    const stopped = opened.stop({ deadlineMs: 3000 });
    finish();
    expect(await stopped).toBe(true);
    expect(ended).toBe(true);
    expect(performance.now() - asked).toBeLessThan(20_000);
  });
});

describe('secrets of the address', () => {
  test('are omitted from the description, even for a malformed address', () => {
    expect(describeTarget({ kind: 'url', url: 'rediss://u:pw-1@host:6380/2?password=pw-2' })).toBe(
      'rediss://host:6380/2',
    );
    expect(describeTarget({ kind: 'url', url: 'redis://u:pw@host:notaport' })).toBe('redis_url');
  });

  test('are omitted if the address is rejected', async () => {
    const target = { kind: 'url', url: 'redis://u:pw-word@host:notaport' } as const;
    const { logger } = recordingLogger();
    const failure = await openQueue({ target, logger }).catch((e) => e);
    expect(failure).toMatchObject({ code: 'bad_redis_url' });
    expect(String(failure.stack)).not.toContain('pw-word');
  });
});
