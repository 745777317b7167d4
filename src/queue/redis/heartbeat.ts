import type { Redis } from 'ioredis';
import { type Cancel, every, systemClock } from '../../core/clock.ts';
import { within } from '../../core/deadline.ts';
import { messageOf } from '../../core/errors.ts';
import { oneAtATime } from '../../core/one-at-a-time.ts';
import type { RedisWatch } from './connection.ts';

const ANSWER_MS = 4_000;
const KEPT_MS = 60_000;

export interface HeartbeatOptions {
  connection: Redis;
  watch: RedisWatch;
  /** What is written, and forgotten by Redis after a minute. */
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
      await within(connection.set(key, '1', 'PX', KEPT_MS), ANSWER_MS);
      watch.heard(null);
    } catch (error) {
      watch.heard(messageOf(error));
    }
  });
  return every(systemClock, intervalMs, () => void run());
}
