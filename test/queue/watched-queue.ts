import { temporaryFolder } from '../support/temporary-folder.ts';
import { begin, clientOf, openQueue, privateRedis, recordingLogger, until } from './support.ts';

export async function startQueue() {
  const { logger, lines } = recordingLogger();
  const redis = await privateRedis(logger, temporaryFolder());
  const client = clientOf(redis.target);
  const queue = await openQueue({ target: redis.target, logger, settings: { heartbeatMs: 200 } });
  begin(queue);
  await until('all connections', () => queue.redisUp);
  const seen = { back: 0 };
  queue.onRedisBack(() => {
    seen.back += 1;
  });
  return { redis, client, queue, lines, seen };
}
