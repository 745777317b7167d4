import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { systemClock } from '../../core/clock.ts';
import { withTimeout } from '../../core/deadline.ts';
import { type AskedOf, combinedRefusal, faultOf, KEY_PATTERN, type RedisFault } from './refusals.ts';

/** What a Redis that can be used says of itself; null where its user may not run INFO. */
export interface RedisFacts {
  version: string | null;
  maxmemoryPolicy: string | null;
  answerMs: number;
}

export type ProbeResult = { fault: null; facts: RedisFacts } | { fault: RedisFault; facts: null };

/** How long Redis may take to answer. */
const ANSWER_MS = 4_000;
/** The probe's keys vanish by themselves if a probe is cut off. */
const KEY_LIFE_MS = 60_000;

const WRITE = "return redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])";
const WRITE_DIGEST = createHash('sha1').update(WRITE).digest('hex');

type Command = [name: string, ...args: string[]];

/** The name of the BullMQ queue of a ledger; all of its keys begin with `bull:` and this name. */
export function queueName(ledgerId: string): string {
  return `ul-${ledgerId}-sync`;
}

/**
 * Runs each command that the queue needs once, in one round trip: those of BullMQ's scripts, EVAL and EVALSHA, the blocking
 * read and SELECT. Redis checks permissions of commands in a script as it does here, so a Redis that passes can carry jobs.
 * INFO is not needed: without it only the facts are missing. Never rejects.
 */
export async function probeRedis(connection: Redis, ledgerId: string): Promise<ProbeResult> {
  const asked = askedOf(connection);
  const began = systemClock.monotonic();
  try {
    const commands: Command[] = [...selectOf(asked), ...probeCommands(ledgerId)];
    const [info, answers] = await withTimeout(
      Promise.all([connection.info().catch((error: Error) => error), runAll(connection, commands)]),
      ANSWER_MS,
    );
    const refused = answers.flatMap(([error], index) =>
      error === null ? [] : [{ command: commands[index]?.[0] ?? '', error }],
    );
    const fault = combinedRefusal(refused, asked);
    if (fault !== null) return { fault, facts: null };
    return { fault: null, facts: { ...factsIn(info), answerMs: systemClock.monotonic() - began } };
  } catch (error) {
    return { fault: faultOf(error, asked), facts: null };
  }
}

/** One write by one script, as a sign of life; null when it worked. Never rejects. */
export async function writeHeartbeat(connection: Redis, ledgerId: string): Promise<RedisFault | null> {
  try {
    await withTimeout(connection.eval(WRITE, 1, probeKey(ledgerId, 'string'), String(KEY_LIFE_MS)), ANSWER_MS);
    return null;
  } catch (error) {
    return faultOf(error, askedOf(connection));
  }
}

export function askedOf({ options }: Redis): AskedOf {
  return { username: options.username || 'default', db: options.db ?? 0, keyPattern: KEY_PATTERN };
}

/** The commands that the queue needs, without those that only some configurations need. */
export function probeCommands(ledgerId: string): Command[] {
  const [string, hash, list, set, zset, stream] = ['string', 'hash', 'list', 'set', 'zset', 'stream'].map((type) =>
    probeKey(ledgerId, type),
  ) as [string, string, string, string, string, string];
  return [
    ['EVAL', WRITE, '1', string, String(KEY_LIFE_MS)],
    ['EVALSHA', WRITE_DIGEST, '1', string, String(KEY_LIFE_MS)],
    ...onString(string),
    ...onHash(hash),
    ...onList(list),
    ['SADD', set, 'a'],
    ['SCARD', set],
    ['SMEMBERS', set],
    ['SREM', set, 'a'],
    ...onSortedSet(zset),
    ['XADD', stream, '*', 'a', '1'],
    ['XTRIM', stream, 'MAXLEN', '1'],
    ['DEL', string, hash, list, set, zset, stream],
  ];
}

function onString(key: string): Command[] {
  return [
    ['SET', key, '1', 'PX', String(KEY_LIFE_MS)],
    ['GET', key],
    ['EXISTS', key],
    ['INCR', key],
    ['PTTL', key],
    ['PERSIST', key],
    ['PEXPIRE', key, String(KEY_LIFE_MS)],
  ];
}

function onHash(key: string): Command[] {
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

function onList(key: string): Command[] {
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

function onSortedSet(key: string): Command[] {
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
    // Returns at once, because the set has members; if ZADD was refused, after 10 ms.
    ['BZPOPMIN', key, '0.01'],
    ['ZREM', key, 'c'],
    ['ZREMRANGEBYRANK', key, '0', '0'],
    ['ZREMRANGEBYSCORE', key, '0', '9'],
  ];
}

/** ioredis works on in database 0 when Redis has no database of this number: only SELECT itself tells. */
function selectOf({ db }: AskedOf): Command[] {
  return db === 0 ? [] : [['SELECT', String(db)]];
}

function probeKey(ledgerId: string, type: string): string {
  return `bull:${queueName(ledgerId)}:probe-${type}`;
}

async function runAll(connection: Redis, commands: Command[]): Promise<[Error | null, unknown][]> {
  const answers = await connection.pipeline(commands.map(([name, ...args]) => ['call', name, ...args])).exec();
  if (answers === null) throw new Error('the connection was lost');
  return answers;
}

function factsIn(info: string | Error): Pick<RedisFacts, 'version' | 'maxmemoryPolicy'> {
  if (typeof info !== 'string') return { version: null, maxmemoryPolicy: null };
  const fact = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? 'unknown';
  return { version: fact('redis_version'), maxmemoryPolicy: fact('maxmemory_policy') };
}
