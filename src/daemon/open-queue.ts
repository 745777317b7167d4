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

/** BullMQ on the configured Redis, or on a private one that runs as long as its releaser is not called. */
export function bullmqOpener({ config, logger }: Context, releasers: Releasers): OpenQueue {
  const openRedis = async (): Promise<RedisTarget> => {
    if (config.redisUrl !== null) return { kind: 'url', url: config.redisUrl };
    const redis = await startPrivateRedis({ dir: privateRedisFolder(config.ledger.path), logger });
    releasers.push(() => redis.close());
    return redis.target;
  };
  return async ({ ledgerId, concurrency }) =>
    openBullmqQueue({ ledgerId, target: await openRedis(), logger, settings: { syncConcurrency: concurrency } });
}
