import { randomInt, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { createLogger, type Logger } from '../../src/core/logger.ts';
import { type BullmqQueueOptions, openBullmqQueue } from '../../src/queue/bullmq-queue.ts';
import type { SyncHandler } from '../../src/queue/jobs.ts';
import { type PrivateRedis, startPrivateRedis } from '../../src/queue/redis/private-redis.ts';
import type { RedisTarget } from '../../src/queue/redis/target.ts';
import type { SyncQueue } from '../../src/queue/sync-queue.ts';

export function uniqueLedgerId(): string {
  return randomUUID().slice(0, 8);
}

/** A logger whose lines can be read. */
export function recordingLogger(): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return { logger: createLogger({ level: 'debug', destination }), lines };
}

const handlers = new WeakMap<SyncQueue, SyncHandler>();

type OpenOptions = Omit<BullmqQueueOptions, 'ledgerId'> & { ledgerId?: string; handle?: SyncHandler | undefined };

/** A queue whose jobs are handled so, by nothing when not told, once `begin` is called. It ends with the test. */
export async function openQueue({ handle = async () => null, ...options }: OpenOptions): Promise<SyncQueue> {
  const queue = await openBullmqQueue({ ledgerId: uniqueLedgerId(), ...options });
  handlers.set(queue, handle);
  onTestFinished(async () => void (await queue.stop({ deadlineMs: 20_000 })));
  return queue;
}

/** Has the queue take jobs. */
export function begin(queue: SyncQueue): void {
  const handle = handlers.get(queue);
  if (handle === undefined) throw new Error('the queue was opened elsewhere');
  queue.start(handle);
}

/** Waits until the condition holds; fails after `deadlineMs` with what was waited for. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = 30_000,
): Promise<void> {
  // Not the clock of the day: some tests hold it.
  const end = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`waited ${deadlineMs} ms for ${what}`);
    await delay(10);
  }
}

/** A plain client, to look at Redis from outside. It ends with the test. */
export function clientOf(target: RedisTarget): Redis {
  if (target.kind !== 'socket') throw new Error('a socket is expected');
  const client = new Redis(target.path);
  onTestFinished(() => client.disconnect());
  return client;
}

/** A private Redis that ends with the test. */
export async function privateRedis(logger: Logger, dir: string): Promise<PrivateRedis> {
  const redis = await startPrivateRedis({ dir, logger });
  onTestFinished(() => redis.close());
  return redis;
}

/**
 * A TCP port of the loopback that nobody listens on. It lies below those that systems give out by themselves, so that
 * nobody gets it by chance before the test takes it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_240, 32_768);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/** A private Redis for all tests of a file. */
export function redisForAll(): () => PrivateRedis {
  const folder = mkdtempSync(join(tmpdir(), 'queue-'));
  let redis: PrivateRedis;
  beforeAll(async () => {
    redis = await startPrivateRedis({ dir: folder, logger: recordingLogger().logger });
  });
  afterAll(async () => {
    await redis.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return () => redis;
}
