import { type Redis, ReplyError } from 'ioredis';
import { settlesWithin } from '../../core/deadline.ts';
import { RedisUnavailableError } from '../errors.ts';
import { PRODUCER_DEADLINE_MS } from '../settings.ts';
import { describeTarget, type RedisTarget, type RedisWatch, whenReady } from './connection.ts';

/** First words of the answers by which Redis refuses a command that there is nothing wrong with. */
const REFUSALS = [
  ...['BUSY', 'CLUSTERDOWN', 'EXECABORT', 'LOADING', 'MASTERDOWN', 'MISCONF', 'NOAUTH', 'NOPERM', 'NOREPLICAS', 'OOM'],
  ...['READONLY', 'TRYAGAIN', 'UNKILLABLE', 'WRONGPASS'],
];

interface Asked {
  connection: Redis;
  target: RedisTarget;
  watch: RedisWatch;
}

/**
 * Asks Redis within about 5 s. Fails with `redis_unavailable` when it is away, does not answer or refuses; what else goes
 * wrong, as in BullMQ or in a command of ours, is a defect and thrown as it is.
 */
export async function askRedis<T>({ connection, target, watch }: Asked, call: () => Promise<T>): Promise<T> {
  const unavailable = (reason: string): RedisUnavailableError =>
    new RedisUnavailableError(describeTarget(target), watch.up ? reason : (watch.lastFault ?? reason));
  await whenReady(connection).catch((error: Error) => {
    throw unavailable(error.message);
  });
  const asked = call();
  if (!(await settlesWithin(asked, PRODUCER_DEADLINE_MS))) {
    throw unavailable(`no answer within ${PRODUCER_DEADLINE_MS} ms`);
  }
  return asked.catch((error: Error) => {
    throw !watch.up || isOfRedis(error, connection) ? unavailable(error.message) : error;
  });
}

/** An error that comes with a lost connection is its, whatever it says. */
function isOfRedis(error: Error, connection: Redis): boolean {
  if (error instanceof ReplyError) return REFUSALS.includes(error.message.split(' ', 1)[0] ?? '');
  return connection.status !== 'ready';
}
