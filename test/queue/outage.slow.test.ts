import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { begin, clientOf, freePort, openQueue, privateRedis, recordingLogger, until } from './support.ts';

// cspell:ignore cret

const job = (slot: string) => ({ workspaceId: 'ws', slot, kind: 'scheduled' as const, attempt: 1 });

describe('while Redis is away', () => {
  test('a queue can be opened and stopped, and works once Redis is back', async () => {
    const { logger } = recordingLogger();
    const seen: string[] = [];
    const folder = temporaryFolder();
    const redis = await privateRedis(logger, folder);
    await redis.close();
    const handle = async (one: { slot: string }) => void seen.push(one.slot);
    const open = () => openQueue({ target: redis.target, logger, handle });
    const [opened, stopped] = [await open(), await open()];
    begin(opened);
    await expect(opened.ping()).rejects.toMatchObject({ code: 'redis_unavailable' });
    const asked = performance.now();
    await stopped.stop({ deadlineMs: 1000 });
    expect(performance.now() - asked).toBeLessThan(20_000);
    await privateRedis(logger, folder);
    await until('Redis', () => opened.redisUp);
    await opened.addSync(job('2026-03-01T10:00:00.000Z'));
    await until('the job', () => seen.length === 1);
  });
});

describe('secrets of the address', () => {
  test('appear in no log line and no error when Redis refuses the password', async () => {
    const { logger, lines } = recordingLogger();
    const redis = await privateRedis(logger, temporaryFolder());
    const client = clientOf(redis.target);
    await client.config('SET', 'requirepass', 'the-real-one');
    // A TCP port only for this test: passwords come with addresses.
    const port = await freePort();
    await client.config('SET', 'port', String(port));
    const url = `redis://operator:s3cret-word@127.0.0.1:${port}/0?password=s3cret-word`;
    const opened = await openQueue({ target: { kind: 'url', url }, logger });
    begin(opened);
    const failure = await opened.ping().then(
      () => 'no failure',
      (error: Error & { hint?: string }) => `${error.message} ${error.hint} ${error.stack} ${JSON.stringify(error)}`,
    );
    expect(failure).toContain(`redis://127.0.0.1:${port}/0`);
    expect(failure).toContain('WRONGPASS');
    expect(failure + lines.join('')).not.toContain('s3cret-word');
    await client.config('SET', 'requirepass', '');
    await client.config('SET', 'port', '0');
  });
});
