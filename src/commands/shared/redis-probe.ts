import { existsSync } from 'node:fs';
import type { Redis, RedisOptions } from 'ioredis';
import type { Config } from '../../config/types.ts';
import { systemClock } from '../../core/clock.ts';
import { withTimeout } from '../../core/deadline.ts';
import { serverFolderAt } from '../../queue/redis/server-folder.ts';
import { isListening, privateRedisFolder, type RedisTarget } from '../../queue/redis/target.ts';

const ANSWER_MS = 2000;

export interface RedisFacts {
  version: string;
  maxmemoryPolicy: string;
  pingMs: number;
}

/** Where the ledger's Redis is to be found now; null when the private one does not run. Starts and creates nothing. */
export async function findRedis(config: Config): Promise<RedisTarget | null> {
  if (config.redisUrl !== null) return { kind: 'url', url: config.redisUrl };
  const folder = privateRedisFolder(config.ledger.path);
  if (!existsSync(folder)) return null;
  const { socketPath } = serverFolderAt(folder);
  return (await isListening(socketPath)) ? { kind: 'socket', path: socketPath } : null;
}

/** Asks a Redis for its version and settings, within two seconds. Throws when it is away or refuses us. */
export async function probeRedis(target: RedisTarget): Promise<RedisFacts> {
  const { Redis } = await import('ioredis');
  const options: Omit<RedisOptions, 'replyMapping'> = {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: ANSWER_MS,
  };
  const connection = target.kind === 'socket' ? new Redis(target.path, options) : new Redis(target.url, options);
  // The reason of a refusal comes with this event only; what `connect` throws is that the connection is closed.
  let reason: Error | null = null;
  connection.on('error', (error: Error) => {
    reason ??= error;
  });
  try {
    return await withTimeout(ask(connection), ANSWER_MS);
  } catch (error) {
    throw reason ?? error;
  } finally {
    connection.disconnect();
  }
}

async function ask(connection: Redis): Promise<RedisFacts> {
  await connection.connect();
  const asked = systemClock.monotonic();
  await connection.ping();
  const pingMs = systemClock.monotonic() - asked;
  // INFO and not CONFIG GET, which many a hosted Redis forbids.
  const info = await connection.info();
  const fact = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? 'unknown';
  return { version: fact('redis_version'), maxmemoryPolicy: fact('maxmemory_policy'), pingMs };
}
