import { Redis, type RedisOptions } from 'ioredis';
import { backoffMs } from '../../core/backoff.ts';
import { settlesWithin, withTimeout } from '../../core/deadline.ts';
import { AppError } from '../../core/errors.ts';
import { parseRedisAddress, REDIS_FORMS } from '../../core/text/redis-address.ts';
import { RedisUnavailableError } from '../errors.ts';
import { PRODUCER_DEADLINE_MS, READY_WAIT_MS } from '../jobs.ts';
import { redisAccessOf } from './probe.ts';
import { isRedisReply, type RedisFault, toRedisFault, toRedisRefusal } from './refusals.ts';
import { describeTarget, type RedisTarget } from './target.ts';
import type { RedisWatch } from './watch.ts';

type RedisConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

/**
 * The delay before each attempt to reconnect, in milliseconds: short at first, because a job whose lock expires
 * meanwhile would run twice; then one second, without end.
 */
const retryStrategy = (attempt: number): number => backoffMs(attempt, { baseMs: 50, maxMs: 1000 });

/** Options of the connection that enqueues jobs. Its commands fail within seconds if Redis is away. */
const PRODUCER_OPTIONS: RedisConnectionOptions = {
  maxRetriesPerRequest: 1,
  enableOfflineQueue: false,
  // Longer than the limit of `callRedis`, which throws the better error.
  commandTimeout: PRODUCER_DEADLINE_MS + 1_000,
  connectTimeout: 2000,
  retryStrategy,
};

/** Options of a worker's connection. Its commands wait without a limit and are sent again once Redis is back. */
const WORKER_OPTIONS: RedisConnectionOptions = { maxRetriesPerRequest: null, retryStrategy };

/**
 * The delay before reconnecting after a rejected password: with an attempt per second, a server may lock the user out.
 */
const rejectedStrategy = (attempt: number): number => backoffMs(attempt, { baseMs: 500, maxMs: 15_000 });

/** Opens the connection that enqueues jobs. Each command has a limit of about 5 s and fails if Redis is away. */
export function openProducerConnection(target: RedisTarget, watch: RedisWatch): Redis {
  // The ready check of ioredis needs INFO, which many hosted Redis services forbid. It is not needed: the prober
  // detects a server that is still loading its data.
  return openConnection(target, watch, 'producer', { ...PRODUCER_OPTIONS, enableReadyCheck: false });
}

/**
 * Opens a worker's connection. It keeps commands until Redis is connected; if the user may run INFO (`mayRunInfo`),
 * also until Redis has loaded its data.
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
      isRejected = isRedisReply(error);
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

/**
 * Creates a connection. Throws `bad_redis_url` for an invalid address, because ioredis' own error would show the
 * password.
 */
export function connectRedis(target: RedisTarget, options: RedisConnectionOptions): Redis {
  if (target.kind === 'socket') {
    const { path, db = 0, username = '', password = '' } = target;
    const login = { ...(username === '' ? {} : { username }), ...(password === '' ? {} : { password }) };
    return new Redis(path, { ...options, ...login, db });
  }
  const address = parseRedisAddress(target.url);
  if (typeof address === 'string') {
    throw new AppError('bad_redis_url', `redis_url ${address}`, { hint: `write it as ${REDIS_FORMS}` });
  }
  if (address.kind === 'socket') return connectRedis(address, options);
  return new Redis(target.url, { ...options, db: address.db });
}

/**
 * Waits up to a second until a connection is ready, because it refuses commands before. Throws if it is not ready then.
 */
export async function waitForConnection(connection: Redis): Promise<void> {
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
 * Runs a call that uses Redis, within about 5 s. Throws `redis_unavailable` if Redis is away, does not respond or
 * refuses a command. Any other error, such as that of a wrong command, is a defect and thrown unchanged.
 */
export async function callRedis<T>({ connection, target, watch }: RedisCall, call: () => Promise<T>): Promise<T> {
  const context = redisAccessOf(connection);
  const unavailable = (fault: RedisFault): RedisUnavailableError =>
    new RedisUnavailableError(describeTarget(target), watch.fault ?? fault);
  await waitForConnection(connection).catch((error: Error) => {
    throw unavailable(toRedisFault(error, context));
  });
  // Redis refused a command earlier, and no test has passed since.
  if (!watch.hasPassedProbe && watch.fault !== null) throw unavailable(watch.fault);
  const result = call();
  if (!(await settlesWithin(result, PRODUCER_DEADLINE_MS))) {
    throw unavailable(toRedisFault(new Error(`no result within ${PRODUCER_DEADLINE_MS} ms`), context));
  }
  return result.catch((error: Error) => {
    throw !watch.isUp || isRedisError(error, connection) ? unavailable(toRedisFault(error, context)) : error;
  });
}

/** Reports whether Redis caused the error. Every error counts if the connection is lost. */
function isRedisError(error: Error, connection: Redis): boolean {
  return isRedisReply(error)
    ? toRedisRefusal(error, redisAccessOf(connection)) !== null
    : connection.status !== 'ready';
}
