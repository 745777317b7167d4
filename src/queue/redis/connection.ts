import { Redis, type RedisOptions, ReplyError } from 'ioredis';
import { type Cancel, every, systemClock } from '../../core/clock.ts';
import { settlesWithin, withTimeout } from '../../core/deadline.ts';
import { AppError, messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { backoffMs } from '../../core/net/retry.ts';
import { oneAtATime } from '../../core/one-at-a-time.ts';
import { RedisUnavailableError } from '../errors.ts';
import { PRODUCER_DEADLINE_MS, READY_WAIT_MS } from '../jobs.ts';
import { describeTarget, type RedisTarget } from './target.ts';

/** Stands among the connections for writes that Redis refuses although the connections are fine. */
const HEARTBEAT = 'heartbeat';

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

/**
 * What is known of one Redis over all connections to it. An outage is one line in the log however many connections
 * notice it, and its end another. Only codes and messages are logged: errors of ioredis carry the arguments of the
 * failed command, and those of AUTH are the password.
 */
export interface RedisWatch {
  /** False from the moment a connection is lost until all of them are ready again. */
  readonly up: boolean;
  readonly lastFault: string | null;
  follow(name: string, connection: Redis): void;
  /** Told whether Redis takes writes: null when it does, else why not. */
  heard(fault: string | null): void;
  /** Calls the listener each time an outage is over; returns what ends the subscription. */
  onBack(listener: () => void): () => void;
}

export function createRedisWatch(target: RedisTarget, logger: Logger): RedisWatch {
  const place = describeTarget(target);
  const waiting = new Set<string>();
  const listeners = new Set<() => void>();
  let outage = false;
  let lastFault: string | null = null;

  const lost = (name: string, reason: string): void => {
    waiting.add(name);
    lastFault = reason;
    if (outage) return;
    outage = true;
    logger.warn({ redis: place, reason }, 'Redis is not available');
  };
  const ready = (name: string): void => {
    waiting.delete(name);
    if (!outage || waiting.size > 0) return;
    outage = false;
    logger.info({ redis: place }, 'Redis is back');
    for (const listener of listeners) listener();
  };

  return {
    get up() {
      return waiting.size === 0;
    },
    get lastFault() {
      return lastFault;
    },
    follow(name, connection) {
      waiting.add(name);
      connection.on('error', (error: Error) => lost(name, error.message));
      // 'reconnecting' and not 'close': a connection that was closed on purpose does not come back.
      connection.on('reconnecting', () =>
        lost(name, outage && lastFault !== null ? lastFault : 'the connection was lost'),
      );
      connection.on('ready', () => ready(name));
      connection.on('end', () => waiting.delete(name));
    },
    heard(fault) {
      if (fault !== null) lost(HEARTBEAT, fault);
      else if (waiting.has(HEARTBEAT)) ready(HEARTBEAT);
    },
    onBack(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** A connection whose commands end within about 5 s, by an error when Redis is away. */
export function openProducerConnection(target: RedisTarget, watch: RedisWatch): Redis {
  return open(target, watch, 'producer', PRODUCER_OPTIONS);
}

/** A connection whose commands wait until Redis is there. */
export function openWorkerConnection(target: RedisTarget, watch: RedisWatch): Redis {
  return open(target, watch, 'worker', WORKER_OPTIONS);
}

function open(target: RedisTarget, watch: RedisWatch, name: string, options: ConnectionOptions): Redis {
  const connection =
    target.kind === 'socket' ? new Redis(target.path, options) : new Redis(checkedUrl(target), options);
  watch.follow(name, connection);
  return connection;
}

/** Refuses what ioredis would misread: its own error would show the address with the password in it. */
function checkedUrl(target: { url: string }): string {
  if (/^rediss?:\/\//i.test(target.url) && URL.canParse(target.url)) return target.url;
  throw new AppError('bad_redis_url', 'redis_url is not an address of Redis', {
    hint: 'write it as redis://[user:password@]host:port[/db], or rediss:// for TLS',
  });
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

/** First words of the answers by which Redis refuses a command that there is nothing wrong with. */
const REDIS_REFUSALS = [
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
  if (error instanceof ReplyError) return REDIS_REFUSALS.includes(error.message.split(' ', 1)[0] ?? '');
  return connection.status !== 'ready';
}

const ANSWER_MS = 4_000;
const KEPT_MS = 60_000;

interface HeartbeatOptions {
  connection: Redis;
  watch: RedisWatch;
  key: string;
  intervalMs: number;
}

/**
 * Writes to Redis again and again and tells the watch how it went: a Redis that is frozen, read-only or full breaks no
 * connection, so neither its outage nor the end of it would be noticed otherwise. Returns what ends it.
 */
export function startHeartbeat({ connection, watch, key, intervalMs }: HeartbeatOptions): Cancel {
  const { run } = oneAtATime(async () => {
    // A connection that is lost has told the watch so itself.
    if (connection.status !== 'ready') return;
    try {
      await withTimeout(connection.set(key, '1', 'PX', KEPT_MS), ANSWER_MS);
      watch.heard(null);
    } catch (error) {
      watch.heard(messageOf(error));
    }
  });
  return every(systemClock, intervalMs, () => void run());
}
