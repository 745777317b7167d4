import type { Redis } from 'ioredis';
import { within } from '../../core/deadline.ts';

/** A round trip takes a millisecond; whoever waits for a turn must not wait long for a Redis that does not answer. */
const ANSWER_MS = 1_000;
/** Turns that nobody has taken for so long may be taken at once. */
const BURST_MICROSECONDS = 100_000;
const FORGOTTEN_AFTER_MS = 60_000;

/**
 * Gives out as many of the wanted turns as the rate allows by now; when there is none, says how many microseconds are
 * left until the next. Redis's own clock counts, so that the daemons' clocks need not agree. No turn is given out ahead of
 * its time, so one that lies ahead was given out before that clock was set back.
 */
const TAKE_TURNS = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval = tonumber(ARGV[1])
local free = math.min(now, math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now - tonumber(ARGV[3])))
local turns = math.min(tonumber(ARGV[2]), math.floor((now - free) / interval))
if turns < 1 then return {0, math.ceil(free + interval - now)} end
redis.call('SET', KEYS[1], string.format('%.0f', free + turns * interval), 'PX', ARGV[4])
return {turns, 0}`;

/** Turns to send a request to a host. */
export interface Turns {
  granted: number;
  /** Milliseconds until there may be another; 0 when some were granted. */
  waitMs: number;
}

/**
 * Takes up to `wanted` turns of a host's rate, which all daemons on this Redis share, whatever ledger they keep. Null
 * when Redis does not answer: then each keeps to the rate for itself.
 */
export async function takeTurns(
  connection: Redis,
  host: string,
  wanted: number,
  perSecond: number,
): Promise<Turns | null> {
  if (connection.status !== 'ready') return null;
  const interval = 1_000_000 / perSecond;
  // A burst that holds less than one turn would never give one.
  const burst = Math.max(BURST_MICROSECONDS, interval);
  const args = [String(interval), String(wanted), String(burst), String(FORGOTTEN_AFTER_MS)];
  try {
    const answer = await within(connection.eval(TAKE_TURNS, 1, `usage-ledger:rate:${host}`, ...args), ANSWER_MS);
    const [granted, waitMicroseconds] = answer as [number, number];
    return { granted, waitMs: waitMicroseconds / 1000 };
  } catch {
    return null;
  }
}
