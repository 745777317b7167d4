import { Redis, type RedisOptions } from 'ioredis';
import { settlesWithin, withTimeout } from '../../core/deadline.ts';
import { AppError } from '../../core/errors.ts';
import { parseRedisAddress, REDIS_FORMS } from '../../core/net/redis-address.ts';
import { backoffMs } from '../../core/net/retry.ts';
import { RedisUnavailableError } from '../errors.ts';
import { PRODUCER_DEADLINE_MS, READY_WAIT_MS } from '../jobs.ts';
import { askedOf } from './probe.ts';
import { faultOf, isReply, type RedisFault, refusalOf } from './refusals.ts';
import { describeTarget, type RedisTarget } from './target.ts';
import type { RedisWatch } from './watch.ts';

type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

/** Fast at first, because a job whose lock is not renewed runs twice; then once a second for as long as it takes. */
const retryStrategy = (attempt: number): number => backoffMs(attempt, { baseMs: 50, maxMs: 1000 });

/** A producer fails fast: whoever enqueues must learn within seconds that Redis is away. */
const PRODUCER_OPTIONS: ConnectionOptions = {
  maxRetriesPerRequest: 1,
  enableOfflineQueue: false,
  // Whoever asks has given up by then, and says why.
  commandTimeout: PRODUCER_DEADLINE_MS + 1_000,
  connectTimeout: 2000,
  retryStrategy,
};

/** A worker waits for ever: its commands are sent again once Redis is back. */
const WORKER_OPTIONS: ConnectionOptions = { maxRetriesPerRequest: null, retryStrategy };

/** A server that rejects the password locks the user out when it is asked once a second. */
const rejectedStrategy = (attempt: number): number => backoffMs(attempt, { baseMs: 500, maxMs: 15_000 });

/** A connection whose commands end within about 5 s, by an error when Redis is away. */
export function openProducerConnection(target: RedisTarget, watch: RedisWatch): Redis {
  // The probe notices a server that is loading, and the ready check needs INFO, which many a hosted Redis forbids.
  return open(target, watch, 'producer', { ...PRODUCER_OPTIONS, enableReadyCheck: false });
}

/** A connection whose commands wait until Redis is there, and with `mayRunInfo` also until it has loaded its data. */
export function openWorkerConnection(target: RedisTarget, watch: RedisWatch, mayRunInfo: boolean): Redis {
  return open(target, watch, 'worker', { ...WORKER_OPTIONS, enableReadyCheck: mayRunInfo });
}

function open(target: RedisTarget, watch: RedisWatch, name: string, options: ConnectionOptions): Redis {
  let isRejected = false;
  const wait = (attempt: number): number => (isRejected ? rejectedStrategy(attempt) : retryStrategy(attempt));
  const connection = connect(target, { ...options, retryStrategy: wait });
  const follow = (made: Redis, as: string): void => {
    made.on('error', (error: Error) => {
      isRejected = isReply(error);
    });
    made.on('ready', () => {
      isRejected = false;
    });
    watch.follow(as, made);
  };
  follow(connection, name);
  // BullMQ makes its blocking connection of a worker's in this way.
  const duplicate = connection.duplicate.bind(connection);
  connection.duplicate = (override) => {
    const made = duplicate(override);
    follow(made, `${name}, blocking`);
    return made;
  };
  return connection;
}

/** A connection of ioredis to the target. Fails with `bad_redis_url`; an error of ioredis would show the password. */
export function connect(target: RedisTarget, options: ConnectionOptions): Redis {
  if (target.kind === 'socket') {
    const { path, db = 0, username = '', password = '' } = target;
    const login = { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) };
    return new Redis(path, { ...options, ...login, db });
  }
  const address = parseRedisAddress(target.url);
  if (typeof address === 'string') {
    throw new AppError('bad_redis_url', `redis_url ${address}`, { hint: `write it as ${REDIS_FORMS}` });
  }
  if (address.kind === 'socket') return connect(address, options);
  return new Redis(target.url, { ...options, db: address.db });
}

/** A connection that is just being made is worth a short wait: a producer refuses commands before it is ready. */
export async function whenReady(connection: Redis): Promise<void> {
  if (connection.status === 'ready') return;
  let ready: () => void = () => undefined;
  const becomesReady = new Promise<void>((resolve) => {
    ready = resolve;
    connection.once('ready', ready);
  });
  try {
    await withTimeout(becomesReady, READY_WAIT_MS);
  } finally {
    connection.off('ready', ready);
  }
}

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
  const asked = askedOf(connection);
  const unavailable = (fault: RedisFault): RedisUnavailableError =>
    new RedisUnavailableError(describeTarget(target), watch.fault ?? fault);
  await whenReady(connection).catch((error: Error) => {
    throw unavailable(faultOf(error, asked));
  });
  // It was found to refuse, and is probed again and again.
  if (!watch.probed && watch.fault !== null) throw unavailable(watch.fault);
  const answer = call();
  if (!(await settlesWithin(answer, PRODUCER_DEADLINE_MS))) {
    throw unavailable(faultOf(new Error(`no answer within ${PRODUCER_DEADLINE_MS} ms`), asked));
  }
  return answer.catch((error: Error) => {
    throw !watch.up || isOfRedis(error, connection) ? unavailable(faultOf(error, asked)) : error;
  });
}

/** An error that comes with a lost connection is its, whatever it says. */
function isOfRedis(error: Error, connection: Redis): boolean {
  return isReply(error) ? refusalOf(error, askedOf(connection)) !== null : connection.status !== 'ready';
}
