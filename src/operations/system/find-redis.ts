import { existsSync } from 'node:fs';
import type { Config } from '../../config/types.ts';
import { withTimeout } from '../../core/deadline.ts';
import type { RedisFacts } from '../../queue/redis/probe.ts';
import type { RedisFault } from '../../queue/redis/refusals.ts';
import { serverFolderAt } from '../../queue/redis/server-folder.ts';
import { isSocketListening, privateRedisFolder, type RedisTarget } from '../../queue/redis/target.ts';

const CONNECT_MS = 2_000;

/**
 * Finds the Redis server of this ledger. Returns null if the ledger has a private Redis that is not running. Nothing is
 * started or created.
 */
export async function findRedis(config: Config): Promise<RedisTarget | null> {
  if (config.redisUrl !== null) return { kind: 'url', url: config.redisUrl };
  const folder = privateRedisFolder(config.ledger.path);
  if (!existsSync(folder)) return null;
  const { socketPath } = serverFolderAt(folder);
  return (await isSocketListening(socketPath)) ? { kind: 'socket', path: socketPath } : null;
}

/**
 * Tests a Redis server in the way that the daemon of this ledger does. Returns the findings, or the fault that would
 * stop the daemon.
 */
export async function probeRedisOnce(
  target: RedisTarget,
  ledgerId: string,
): Promise<{ fault: null; facts: RedisFacts } | { fault: RedisFault; facts: null }> {
  const [{ connectRedis }, { redisAccessOf, probeRedis }, { toRedisFault }] = await Promise.all([
    import('../../queue/redis/connection.ts'),
    import('../../queue/redis/probe.ts'),
    import('../../queue/redis/refusals.ts'),
  ]);
  const connection = connectRedis(target, {
    lazyConnect: true,
    enableReadyCheck: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
    connectTimeout: CONNECT_MS,
  });
  // The cause of a rejected connection is only in the event `error`; `connect` itself rejects with "connection is
  // closed".
  let reason: Error | null = null;
  connection.on('error', (error: Error) => {
    reason ??= error;
  });
  try {
    await withTimeout(connection.connect(), CONNECT_MS);
    return await probeRedis(connection, ledgerId);
  } catch (error) {
    return { fault: toRedisFault(reason ?? error, redisAccessOf(connection)), facts: null };
  } finally {
    connection.disconnect();
  }
}
