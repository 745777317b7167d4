import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../queue/support.ts';
import { startPlayedDaemon } from '../clocks/played-daemon.ts';
import { type FailingRedis, startFailingRedis } from './redis-server.ts';

const OUTAGES = Number(process.env.OUTAGES ?? 50);
const MINUTE_MS = 60_000;
/** From the return of Redis to the next run that was due. */
const BACK_WITHIN_MS = 30_000;

interface Outage {
  begin(redis: FailingRedis): unknown;
  end(redis: FailingRedis): unknown;
}

const KINDS: Readonly<Record<string, Outage>> = {
  killed: { begin: (redis) => redis.kill(), end: (redis) => redis.start() },
  frozen: { begin: (redis) => redis.freeze(), end: (redis) => redis.thaw() },
  emptied: { begin: (redis) => redis.ask('FLUSHALL'), end: () => undefined },
  'read-only': {
    begin: (redis) => redis.ask('REPLICAOF', '127.0.0.1', '1'),
    end: (redis) => redis.ask('REPLICAOF', 'NO', 'ONE'),
  },
  full: {
    begin: (redis) => redis.ask('CONFIG', 'SET', 'maxmemory', '1'),
    end: (redis) => redis.ask('CONFIG', 'SET', 'maxmemory', '0'),
  },
};

test(`${OUTAGES} outages of Redis: the due run comes within 30 s of its return, and nothing is applied twice`, async () => {
  const redis = await startFailingRedis(await freePort());
  onTestFinished(() => redis.stop());
  let nowMs = Date.UTC(2026, 2, 20, 12, 0, 20);
  const daemon = await startPlayedDaemon(nowMs, { redisUrl: redis.url });
  onTestFinished(() => daemon.stop());
  await daemon.runOfSlot(nowMs - 20_000, MINUTE_MS);
  const took: { kind: string; ms: number }[] = [];
  for (let outage = 0; outage < OUTAGES; outage += 1) {
    const [kind, { begin, end }] = Object.entries(KINDS)[outage % Object.keys(KINDS).length] as [string, Outage];
    await begin(redis);
    // A slot becomes due while Redis is away, for up to 8 s.
    nowMs += 2 * MINUTE_MS;
    daemon.clock.set(nowMs);
    await sleep(1_000 + (outage % 8) * 1_000);
    await end(redis);
    const backAtMs = performance.now();
    const dueMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
    await daemon.runOfSlot(dueMs, BACK_WITHIN_MS);
    took.push({ kind, ms: Math.round(performance.now() - backAtMs) });
  }
  const longest = took.toSorted((a, b) => b.ms - a.ms)[0];
  process.stdout.write(`${JSON.stringify({ outages: took.length, longest })}\n`);
  expect(daemon.slotsDoneTwice()).toEqual([]);
});
