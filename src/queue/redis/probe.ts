import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { systemClock } from '../../core/clock.ts';
import { withTimeout } from '../../core/deadline.ts';
import { combineRefusals, KEY_PATTERN, type RedisAccess, type RedisFault, toRedisFault } from './refusals.ts';

/** Facts about a usable Redis. `version` and `maxmemoryPolicy` are null if its user may not run INFO. */
export interface RedisFacts {
  version: string | null;
  maxmemoryPolicy: string | null;
  responseMs: number;
}

export type ProbeResult = { fault: null; facts: RedisFacts } | { fault: RedisFault; facts: null };

/** Time limit of a probe. */
const PROBE_TIMEOUT_MS = 4_000;
/** Time after which Redis deletes the probe's keys, for a probe that was interrupted before it deleted them. */
const PROBE_KEY_TTL_MS = 60_000;

const WRITE_SCRIPT = "return redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])";
const WRITE_SCRIPT_DIGEST = createHash('sha1').update(WRITE_SCRIPT).digest('hex');

type RedisCommand = [name: string, ...args: string[]];

/** Returns the name of a ledger's BullMQ queue. All of the queue's keys in Redis begin with `bull:` and this name. */
export function queueNameOf(ledgerId: string): string {
  return `ul-${ledgerId}-sync`;
}

/**
 * Tests whether Redis can run the queue: runs every command that the queue needs in one round trip. Besides EVAL,
 * EVALSHA, SELECT and the blocking read, these are the commands inside BullMQ's scripts, because Redis checks their
 * permissions, too. INFO is optional: if it is refused, only facts are missing. Never rejects.
 */
export async function probeRedis(connection: Redis, ledgerId: string): Promise<ProbeResult> {
  const context = redisAccessOf(connection);
  const startedMs = systemClock.monotonic();
  try {
    const commands: RedisCommand[] = [...selectCommand(context), ...requiredCommands(ledgerId)];
    const [info, replies] = await withTimeout(
      Promise.all([connection.info().catch((error: Error) => error), runAll(connection, commands)]),
      PROBE_TIMEOUT_MS,
    );
    const refused = replies.flatMap(([error], index) =>
      error === null ? [] : [{ command: commands[index]?.[0] ?? '', error }],
    );
    const fault = combineRefusals(refused, context);
    if (fault !== null) return { fault, facts: null };
    return { fault: null, facts: { ...parseFacts(info), responseMs: systemClock.monotonic() - startedMs } };
  } catch (error) {
    return { fault: toRedisFault(error, context), facts: null };
  }
}

/** Tests Redis briefly: writes one key with a script. Returns the fault, or null if it worked. Never rejects. */
export async function writeHeartbeat(connection: Redis, ledgerId: string): Promise<RedisFault | null> {
  try {
    await withTimeout(
      connection.eval(WRITE_SCRIPT, 1, probeKey(ledgerId, 'string'), String(PROBE_KEY_TTL_MS)),
      PROBE_TIMEOUT_MS,
    );
    return null;
  } catch (error) {
    return toRedisFault(error, redisAccessOf(connection));
  }
}

/** Returns the user, database and key pattern of a connection. */
export function redisAccessOf({ options }: Redis): RedisAccess {
  return { username: options.username || 'default', db: options.db ?? 0, keyPattern: KEY_PATTERN };
}

/** Returns one example of every command that the queue needs, in an order in which all of them succeed. */
export function requiredCommands(ledgerId: string): RedisCommand[] {
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
    // Blocks until the set has a member. It has some, so this returns at once; if ZADD was refused, after 10 ms.
    ['BZPOPMIN', key, '0.01'],
    ['ZREM', key, 'c'],
    ['ZREMRANGEBYRANK', key, '0', '0'],
    ['ZREMRANGEBYSCORE', key, '0', '9'],
  ];
}

/**
 * Returns the command SELECT for a database other than 0: if Redis has no such database, ioredis would silently use
 * database 0.
 */
function selectCommand({ db }: RedisAccess): RedisCommand[] {
  return db === 0 ? [] : [['SELECT', String(db)]];
}

function probeKey(ledgerId: string, type: string): string {
  return `bull:${queueNameOf(ledgerId)}:probe-${type}`;
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
