import type { Releasers } from '../core/process/releasers.ts';
import { openBullmqQueue } from '../queue/bullmq-queue.ts';
import { startPrivateRedis } from '../queue/redis/private-redis.ts';
import { privateRedisFolder, type RedisTarget } from '../queue/redis/target.ts';
import type { SyncQueue } from '../queue/sync-queue.ts';
import type { Context } from '../wiring/context.ts';

export interface QueueOrder {
  ledgerId: string;
  concurrency: number;
}

export type OpenQueue = (order: QueueOrder) => Promise<SyncQueue>;

/**
 * Returns a function that opens BullMQ on the configured Redis, or on a private Redis, which runs until its releaser is
 * called. The private Redis starts immediately, while the ledger is being opened.
 */
export function bullmqOpener(context: Context, releasers: Releasers): OpenQueue {
  const { logger } = context;
  const target = openRedis(context, releasers);
  // Prevents an unhandled rejection. The returned function awaits `target` and throws its error.
  target.catch(() => undefined);
  return async ({ ledgerId, concurrency }) =>
    openBullmqQueue({ ledgerId, target: await target, logger, settings: { syncConcurrency: concurrency } });
}

async function openRedis({ config, logger }: Context, releasers: Releasers): Promise<RedisTarget> {
  if (config.redisUrl !== null) return { kind: 'url', url: config.redisUrl };
  const starting = startPrivateRedis({ dir: privateRedisFolder(config.ledger.path), logger });
  releasers.push(async () => {
    const redis = await starting.catch(() => null);
    await redis?.close();
  });
  return (await starting).target;
}
