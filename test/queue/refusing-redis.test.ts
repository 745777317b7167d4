import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { RedisTarget } from '../../src/queue/redis/target.ts';
import { begin, clientOf, openQueue, recordingLogger, redisForAll, uniqueLedgerId, until } from './support.ts';

const redis = redisForAll();
const job = (slot: string) => ({ workspaceId: 'ws', slot, kind: 'scheduled' as const, attempt: 1 });

async function openAs(username: string, ...rights: string[]) {
  const { logger, lines } = recordingLogger();
  const client = clientOf(redis().target);
  await client.call('ACL', 'SETUSER', username, 'on', '>pw', '~bull:ul-*', '+@all', ...rights);
  const target = { ...redis().target, username, password: 'pw' } as RedisTarget;
  const seen: string[] = [];
  const handle = async (one: { slot: string }) => void seen.push(one.slot);
  const queue = await openQueue({ ledgerId: uniqueLedgerId(), target, logger, settings: { heartbeatMs: 200 }, handle });
  begin(queue);
  const warnings = () => lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'Redis is not available');
  return { client, queue, seen, warnings };
}

test('a worker that is refused while it waits is paused at once, and continues when the permission is granted', async () => {
  const { client, queue, seen, warnings } = await openAs('waiting');
  await until('Redis', () => queue.redisUp);
  await queue.addSync(job('2026-03-01T10:00:00.000Z'));
  await until('the first job', () => seen.length === 1);

  await client.call('ACL', 'SETUSER', 'waiting', '-evalsha', '-eval');
  await until('the refusal', () => !queue.redisUp);
  await client.config('RESETSTAT');
  await delay(1_000);
  // The probe asks once a second or less: each refused command counts.
  const refused = /errorstat_NOPERM:count=(\d+)/.exec(await client.info('errorstats'))?.[1] ?? '0';
  expect(Number(refused)).toBeLessThan(20);
  expect(queue.redisFault).toMatchObject({ reason: 'its user "waiting" may not run EVAL and EVALSHA (NOPERM)' });
  await expect(queue.addSync(job('2026-03-01T10:15:00.000Z'))).rejects.toMatchObject({
    code: 'redis_unavailable',
    hint: 'grant the user what is missing: ACL SETUSER waiting +eval +evalsha',
  });

  await client.call('ACL', 'SETUSER', 'waiting', '+evalsha', '+eval');
  await until('Redis', () => queue.redisUp);
  await queue.addSync(job('2026-03-01T10:30:00.000Z'));
  await until('the worker to go on', () => seen.length === 2);
  expect(warnings()).toHaveLength(1);
});

test('a queue with a Redis that refuses from the start starts no worker, stops at once and names the cause', async () => {
  const { queue, warnings } = await openAs('refused', '-bzpopmin');
  expect(queue.redisUp).toBe(false);
  expect(queue.redisFault?.reason).toBe('its user "refused" may not run BZPOPMIN (NOPERM)');
  expect(warnings()).toMatchObject([
    { code: 'NOPERM', hint: expect.stringContaining('ACL SETUSER refused +bzpopmin') },
  ]);
  const asked = performance.now();
  expect(await queue.stop()).toBe(true);
  expect(performance.now() - asked).toBeLessThan(1_000);
});

test('a user without INFO, PING and channels can run jobs', async () => {
  const { queue, seen } = await openAs('hosted', '-info', '-ping', 'resetchannels');
  await until('Redis', () => queue.redisUp);
  await queue.addSync(job('2026-03-01T10:00:00.000Z'));
  await until('the job', () => seen.length === 1);
});

test('stop returns in time if Redis starts to refuse everything while a job is taken', async () => {
  const { client, queue, seen } = await openAs('busy');
  await until('Redis', () => queue.redisUp);
  await queue.addSync(job('2026-03-01T10:00:00.000Z'));
  await client.call('ACL', 'SETUSER', 'busy', '-@all');
  await until('the refusal', () => !queue.redisUp);
  const asked = performance.now();
  await queue.stop({ deadlineMs: 3_000 });
  expect(performance.now() - asked).toBeLessThan(3_500);
  expect(seen.length).toBeLessThanOrEqual(1);
});
