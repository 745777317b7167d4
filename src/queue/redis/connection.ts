import { Redis, type RedisOptions } from 'ioredis';
import { backoffMs } from '../../core/backoff.ts';
import { settlesWithin, withTimeout } from '../../core/deadline.ts';
import { AppError } from '../../core/errors.ts';
import { parseRedisAddress, REDIS_FORMS } from '../../core/text/redis-address.ts';
import { RedisUnavailableError } from '../errors.ts';
import { PRODUCER_DEADLINE_MS, READY_WAIT_MS } from '../jobs.ts';
import { accessContextOf } from './probe.ts';
import { isReply, type RedisFault, redisFaultOf, redisRefusal } from './refusals.ts';
import { describeTarget, type RedisTarget } from './target.ts';
import type { RedisWatch } from './watch.ts';

type RedisConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

/** Reconnects fast at first, because a job with an expired lock runs twice; then once a second, without end. */
const retryStrategy = (attempt: number): number => backoffMs(attempt, { baseMs: 50, maxMs: 1000 });

/** A producer fails fast: its callers must learn within seconds that Redis is away. */
const PRODUCER_OPTIONS: RedisConnectionOptions = {
  maxRetriesPerRequest: 1,
  enableOfflineQueue: false,
  // The caller has given up before this limit, with an error of its own.
  commandTimeout: PRODUCER_DEADLINE_MS + 1_000,
  connectTimeout: 2000,
  retryStrategy,
};

/** A worker waits forever: its commands are sent again once Redis is back. */
const WORKER_OPTIONS: RedisConnectionOptions = { maxRetriesPerRequest: null, retryStrategy };

/** Reconnects slowly after a rejected password: a server may lock the user out after an attempt per second. */
const rejectedStrategy = (attempt: number): number => backoffMs(attempt, { baseMs: 500, maxMs: 15_000 });

/** Opens a connection with a limit of about 5 s for each command, which fails if Redis is away. */
export function openProducerConnection(target: RedisTarget, watch: RedisWatch): Redis {
  // The probe detects a server that is loading, and the ready check needs INFO, which many hosted Redis services
  // forbid.
  return openConnection(target, watch, 'producer', { ...PRODUCER_OPTIONS, enableReadyCheck: false });
}

/**
 * Opens a connection that queues commands until Redis is connected, and with `mayRunInfo` until it has loaded its data.
 */
export function openWorkerConnection(target: RedisTarget, watch: RedisWatch, mayRunInfo: boolean): Redis {
  return openConnection(target, watch, 'worker', { ...WORKER_OPTIONS, enableReadyCheck: mayRunInfo });
}

function openConnection(target: RedisTarget, watch: RedisWatch, name: string, options: RedisConnectionOptions): Redis {
  let isRejected = false;
  const wait = (attempt: number): number => (isRejected ? rejectedStrategy(attempt) : retryStrategy(attempt));
  const connection = connectRedis(target, { ...options, retryStrategy: wait });
  const observe = (redis: Redis, label: string): void => {
    redis.on('error', (error: Error) => {
      isRejected = isReply(error);
    });
    redis.on('ready', () => {
      isRejected = false;
    });
    watch.add(label, redis);
  };
  observe(connection, name);
  // BullMQ creates a worker's blocking connection with `duplicate`.
  const duplicate = connection.duplicate.bind(connection);
  connection.duplicate = (override) => {
    const redis = duplicate(override);
    observe(redis, `${name}, blocking`);
    return redis;
  };
  return connection;
}

/** Creates a connection to the target. Throws `bad_redis_url`, because an error of ioredis would show the password. */
export function connectRedis(target: RedisTarget, options: RedisConnectionOptions): Redis {
  if (target.kind === 'socket') {
    const { path, db = 0, username = '', password = '' } = target;
    const login = { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) };
    return new Redis(path, { ...options, ...login, db });
  }
  const address = parseRedisAddress(target.url);
  if (typeof address === 'string') {
    throw new AppError('bad_redis_url', `redis_url ${address}`, { hint: `write it label ${REDIS_FORMS}` });
  }
  if (address.kind === 'socket') return connectRedis(address, options);
  return new Redis(target.url, { ...options, db: address.db });
}

/** Waits briefly for a pending connection, because a producer refuses commands until it is ready. */
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

interface RedisCall {
  connection: Redis;
  target: RedisTarget;
  watch: RedisWatch;
}

/**
 * Runs a call within about 5 s. Throws `redis_unavailable` if Redis is away, does not respond or refuses. Other errors,
 * as in BullMQ or a wrong command, are defects and thrown unchanged.
 */
export async function callRedis<T>({ connection, target, watch }: RedisCall, call: () => Promise<T>): Promise<T> {
  const context = accessContextOf(connection);
  const unavailable = (fault: RedisFault): RedisUnavailableError =>
    new RedisUnavailableError(describeTarget(target), watch.fault ?? fault);
  await whenReady(connection).catch((error: Error) => {
    throw unavailable(redisFaultOf(error, context));
  });
  // Redis refuses commands, and the prober keeps probing it.
  if (!watch.hasPassedProbe && watch.fault !== null) throw unavailable(watch.fault);
  const result = call();
  if (!(await settlesWithin(result, PRODUCER_DEADLINE_MS))) {
    throw unavailable(redisFaultOf(new Error(`no result within ${PRODUCER_DEADLINE_MS} ms`), context));
  }
  return result.catch((error: Error) => {
    throw !watch.isUp || isRedisError(error, connection) ? unavailable(redisFaultOf(error, context)) : error;
  });
}

/** Reports whether Redis caused the error. Any error on a lost connection counts. */
function isRedisError(error: Error, connection: Redis): boolean {
  return isReply(error) ? redisRefusal(error, accessContextOf(connection)) !== null : connection.status !== 'ready';
}
