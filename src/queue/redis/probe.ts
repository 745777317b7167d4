import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { systemClock } from '../../core/clock.ts';
import { withTimeout } from '../../core/deadline.ts';
import { type AccessContext, combinedRefusal, KEY_PATTERN, type RedisFault, redisFaultOf } from './refusals.ts';

/** The facts that a usable Redis reports; null if its user may not run INFO. */
export interface RedisFacts {
  version: string | null;
  maxmemoryPolicy: string | null;
  responseMs: number;
}

export type ProbeResult = { fault: null; facts: RedisFacts } | { fault: RedisFault; facts: null };

/** Maximum response time of Redis in a probe. */
const PROBE_TIMEOUT_MS = 4_000;
/** Expiry of the probe's keys, which an interrupted probe leaves. */
const PROBE_KEY_TTL_MS = 60_000;

const WRITE_SCRIPT = "return redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])";
const WRITE_SCRIPT_DIGEST = createHash('sha1').update(WRITE_SCRIPT).digest('hex');

type RedisCommand = [name: string, ...args: string[]];

/** Returns the name of a ledger's BullMQ queue; all of its keys begin with `bull:` and this name. */
export function queueName(ledgerId: string): string {
  return `ul-${ledgerId}-sync`;
}

/**
 * Runs each command that the queue needs, in one round trip: those of BullMQ's scripts, EVAL and EVALSHA, the blocking
 * read and SELECT. Redis checks command permissions in scripts as it does here, so a Redis that passes can run jobs.
 * INFO is optional: without it only the facts are missing. Never rejects.
 */
export async function probeRedis(connection: Redis, ledgerId: string): Promise<ProbeResult> {
  const context = accessContextOf(connection);
  const startedMs = systemClock.monotonic();
  try {
    const commands: RedisCommand[] = [...selectCommand(context), ...probeCommands(ledgerId)];
    const [info, replies] = await withTimeout(
      Promise.all([connection.info().catch((error: Error) => error), runAll(connection, commands)]),
      PROBE_TIMEOUT_MS,
    );
    const refused = replies.flatMap(([error], index) =>
      error === null ? [] : [{ command: commands[index]?.[0] ?? '', error }],
    );
    const fault = combinedRefusal(refused, context);
    if (fault !== null) return { fault, facts: null };
    return { fault: null, facts: { ...parseFacts(info), responseMs: systemClock.monotonic() - startedMs } };
  } catch (error) {
    return { fault: redisFaultOf(error, context), facts: null };
  }
}

/** Writes one key with a script as a heartbeat; returns null if it worked. Never rejects. */
export async function writeHeartbeat(connection: Redis, ledgerId: string): Promise<RedisFault | null> {
  try {
    await withTimeout(
      connection.eval(WRITE_SCRIPT, 1, probeKey(ledgerId, 'string'), String(PROBE_KEY_TTL_MS)),
      PROBE_TIMEOUT_MS,
    );
    return null;
  } catch (error) {
    return redisFaultOf(error, accessContextOf(connection));
  }
}

export function accessContextOf({ options }: Redis): AccessContext {
  return { username: options.username || 'default', db: options.db ?? 0, keyPattern: KEY_PATTERN };
}

/** Returns the commands that the queue always needs. */
export function probeCommands(ledgerId: string): RedisCommand[] {
  const [string, hash, list, set, zset, stream] = ['string', 'hash', 'list', 'set', 'zset', 'stream'].map((type) =>
    probeKey(ledgerId, type),
  ) as [string, string, string, string, string, string];
  return [
    ['EVAL', WRITE_SCRIPT, '1', string, String(PROBE_KEY_TTL_MS)],
    ['EVALSHA', WRITE_SCRIPT_DIGEST, '1', string, String(PROBE_KEY_TTL_MS)],
    ...stringCommands(string),
    ...hashCommands(hash),
    ...listCommands(list),
    ['SADD', set, 'a'],
    ['SCARD', set],
    ['SMEMBERS', set],
    ['SREM', set, 'a'],
    ...sortedSetCommands(zset),
    ['XADD', stream, '*', 'a', '1'],
    ['XTRIM', stream, 'MAXLEN', '1'],
    ['DEL', string, hash, list, set, zset, stream],
  ];
}

function stringCommands(key: string): RedisCommand[] {
  return [
    ['SET', key, '1', 'PX', String(PROBE_KEY_TTL_MS)],
    ['GET', key],
    ['EXISTS', key],
    ['INCR', key],
    ['PTTL', key],
    ['PERSIST', key],
    ['PEXPIRE', key, String(PROBE_KEY_TTL_MS)],
  ];
}

function hashCommands(key: string): RedisCommand[] {
  return [
    ['HSET', key, 'a', '1'],
    ['HMSET', key, 'b', '1'],
    ['HGET', key, 'a'],
    ['HMGET', key, 'a', 'b'],
    ['HGETALL', key],
    ['HEXISTS', key, 'a'],
    ['HINCRBY', key, 'a', '1'],
    ['HDEL', key, 'a'],
  ];
}

function listCommands(key: string): RedisCommand[] {
  return [
    ['LPUSH', key, 'a', 'b'],
    ['LLEN', key],
    ['LINDEX', key, '0'],
    ['LPOS', key, 'a'],
    ['LRANGE', key, '0', '-1'],
    ['RPOPLPUSH', key, key],
    ['LREM', key, '1', 'a'],
    ['LTRIM', key, '0', '0'],
    ['RPOP', key],
  ];
}

function sortedSetCommands(key: string): RedisCommand[] {
  return [
    ['ZADD', key, '1', 'a', '2', 'b', '3', 'c'],
    ['ZCARD', key],
    ['ZCOUNT', key, '0', '9'],
    ['ZSCORE', key, 'a'],
    ['ZRANGE', key, '0', '-1'],
    ['ZREVRANGE', key, '0', '-1'],
    ['ZRANGEBYSCORE', key, '0', '9'],
    ['ZREVRANGEBYSCORE', key, '9', '0'],
    ['ZPOPMIN', key],
    // Returns at once because the set has members, or after 10 ms if ZADD was refused.
    ['BZPOPMIN', key, '0.01'],
    ['ZREM', key, 'c'],
    ['ZREMRANGEBYRANK', key, '0', '0'],
    ['ZREMRANGEBYSCORE', key, '0', '9'],
  ];
}

/**
 * Returns SELECT if the database is not 0: ioredis silently uses database 0 if Redis has no database of this number.
 */
function selectCommand({ db }: AccessContext): RedisCommand[] {
  return db === 0 ? [] : [['SELECT', String(db)]];
}

function probeKey(ledgerId: string, type: string): string {
  return `bull:${queueName(ledgerId)}:probe-${type}`;
}

async function runAll(connection: Redis, commands: RedisCommand[]): Promise<[Error | null, unknown][]> {
  const replies = await connection.pipeline(commands.map(([name, ...args]) => ['call', name, ...args])).exec();
  if (replies === null) throw new Error('the connection was lost');
  return replies;
}

function parseFacts(info: string | Error): Pick<RedisFacts, 'version' | 'maxmemoryPolicy'> {
  if (typeof info !== 'string') return { version: null, maxmemoryPolicy: null };
  const fact = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? 'unknown';
  return { version: fact('redis_version'), maxmemoryPolicy: fact('maxmemory_policy') };
}
