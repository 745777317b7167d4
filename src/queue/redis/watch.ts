import type { Redis } from 'ioredis';
import type { Logger } from '../../core/logger.ts';
import { askedOf } from './probe.ts';
import { faultOf, type RedisFault } from './refusals.ts';
import { describeTarget, type RedisTarget } from './target.ts';

/** Stands among the connections: Redis may refuse commands although the connections are fine. */
const PROBE = 'probe';

/**
 * What is known of one Redis over all connections to it. Redis is up when all connections are ready and the last probe
 * passed. An outage is one line in the log however many connections notice it, one more for each other cause, and its end
 * another. Only codes and messages are logged: errors of ioredis carry the arguments of the failed command, and those of
 * AUTH are the password.
 */
export interface RedisWatch {
  readonly up: boolean;
  /** Why Redis is not up; null when it is, and before the first probe has ended. */
  readonly fault: RedisFault | null;
  /** False from a refusal, or from the loss of a connection, until a probe passes. */
  readonly probed: boolean;
  follow(name: string, connection: Redis): void;
  /** Records the result of a probe: null when it passed. */
  heard(fault: RedisFault | null): void;
  /** Makes all connections anew: the name of a primary may lead elsewhere by now. */
  reconnect(): void;
  /** Calls the listener when Redis is up for the first time and after each outage; returns what ends the subscription. */
  onBack(listener: () => void): () => void;
  /** Calls the listener when Redis is no longer up; returns what ends the subscription. */
  onLost(listener: () => void): () => void;
}

export function createRedisWatch(target: RedisTarget, logger: Logger): RedisWatch {
  const place = describeTarget(target);
  const waiting = new Set<string>([PROBE]);
  const connections = new Set<Redis>();
  const backListeners = new Set<() => void>();
  const lostListeners = new Set<() => void>();
  let wasUp = false;
  let outage = false;
  let fault: RedisFault | null = null;

  const lost = (name: string, cause: RedisFault): void => {
    waiting.add(name);
    // What comes back may be another server, or one that is still loading.
    waiting.add(PROBE);
    // Connections that are lost together give reasons of their own, in turn.
    const known = outage && fault?.code === cause.code && (cause.code === 'AWAY' || fault.reason === cause.reason);
    fault = cause;
    if (!known)
      logger.warn({ redis: place, code: cause.code, reason: cause.reason, hint: cause.hint }, 'Redis is not available');
    if (outage) return;
    outage = true;
    for (const listener of lostListeners) listener();
  };
  const passed = (name: string): void => {
    waiting.delete(name);
    if (waiting.size > 0 || (wasUp && !outage)) return;
    if (outage) logger.info({ redis: place }, 'Redis is back');
    wasUp = true;
    outage = false;
    fault = null;
    for (const listener of backListeners) listener();
  };

  return {
    get up() {
      return waiting.size === 0;
    },
    get fault() {
      return fault;
    },
    get probed() {
      return !waiting.has(PROBE);
    },
    follow(name, connection) {
      waiting.add(name);
      connections.add(connection);
      connection.on('error', (error: Error) => lost(name, faultOf(error, askedOf(connection))));
      // 'reconnecting' and not 'close': a connection that was closed on purpose does not come back.
      connection.on('reconnecting', () => {
        const cause = outage ? fault : null;
        lost(name, cause ?? faultOf(new Error('the connection was lost'), askedOf(connection)));
      });
      connection.on('ready', () => passed(name));
      connection.on('end', () => {
        waiting.delete(name);
        connections.delete(connection);
      });
    },
    heard(cause) {
      if (cause === null) passed(PROBE);
      else lost(PROBE, cause);
    },
    reconnect() {
      for (const connection of connections) if (connection.status === 'ready') connection.disconnect(true);
    },
    onBack(listener) {
      backListeners.add(listener);
      return () => backListeners.delete(listener);
    },
    onLost(listener) {
      lostListeners.add(listener);
      return () => lostListeners.delete(listener);
    },
  };
}
