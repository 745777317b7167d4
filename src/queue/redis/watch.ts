import type { Redis } from 'ioredis';
import type { Logger } from '../../core/logger.ts';
import { accessContextOf } from './probe.ts';
import { type RedisFault, redisFaultOf } from './refusals.ts';
import { describeTarget, type RedisTarget } from './target.ts';

/** A pseudo-connection for the probe: Redis may refuse commands although all connections are fine. */
const PROBE = 'probe';

/**
 * The state of one Redis across all connections to it. Redis is up when all connections are ready and the last probe
 * passed. An outage is logged once, however many connections notice it, with one more line for each new cause and one
 * for its end. Only codes and messages are logged: errors of ioredis contain the arguments of the failed command, and
 * those of AUTH are the password.
 */
export interface RedisWatch {
  readonly isUp: boolean;
  /** The cause of the outage; null while Redis is up and before the first probe has ended. */
  readonly fault: RedisFault | null;
  /** Becomes false after a refusal or the loss of a connection, until a probe passes. */
  readonly hasPassedProbe: boolean;
  add(name: string, connection: Redis): void;
  /** Records the result of a probe; null means that it passed. */
  recordProbe(fault: RedisFault | null): void;
  /** Reopens all connections: the name of a primary may resolve to another server by now. */
  reconnect(): void;
  /** Calls the listener when Redis is first up and after each outage. Returns the function that unsubscribes. */
  onBack(listener: () => void): () => void;
  /** Calls the listener when an outage begins. Returns the function that unsubscribes. */
  onLost(listener: () => void): () => void;
}

export function createRedisWatch(target: RedisTarget, logger: Logger): RedisWatch {
  const place = describeTarget(target);
  const notReady = new Set<string>([PROBE]);
  const connections = new Set<Redis>();
  const backListeners = new Set<() => void>();
  const lostListeners = new Set<() => void>();
  let wasUp = false;
  let isOutage = false;
  let fault: RedisFault | null = null;

  const markLost = (name: string, cause: RedisFault): void => {
    notReady.add(name);
    // After a reconnect the server may be another one, or still loading.
    notReady.add(PROBE);
    // Connections that are lost together report different reasons in turn.
    const isKnownCause =
      isOutage && fault?.code === cause.code && (cause.code === 'AWAY' || fault.reason === cause.reason);
    fault = cause;
    if (!isKnownCause)
      logger.warn({ redis: place, code: cause.code, reason: cause.reason, hint: cause.hint }, 'Redis is not available');
    if (isOutage) return;
    isOutage = true;
    for (const listener of lostListeners) listener();
  };
  const markReady = (name: string): void => {
    notReady.delete(name);
    if (notReady.size > 0 || (wasUp && !isOutage)) return;
    if (isOutage) logger.info({ redis: place }, 'Redis is back');
    wasUp = true;
    isOutage = false;
    fault = null;
    for (const listener of backListeners) listener();
  };

  return {
    get isUp() {
      return notReady.size === 0;
    },
    get fault() {
      return fault;
    },
    get hasPassedProbe() {
      return !notReady.has(PROBE);
    },
    add(name, connection) {
      notReady.add(name);
      connections.add(connection);
      connection.on('error', (error: Error) => markLost(name, redisFaultOf(error, accessContextOf(connection))));
      // 'reconnecting', not 'close': a connection that was closed on purpose does not come back.
      connection.on('reconnecting', () => {
        const cause = isOutage ? fault : null;
        markLost(name, cause ?? redisFaultOf(new Error('the connection was lost'), accessContextOf(connection)));
      });
      connection.on('ready', () => markReady(name));
      connection.on('end', () => {
        notReady.delete(name);
        connections.delete(connection);
      });
    },
    recordProbe(cause) {
      if (cause === null) markReady(PROBE);
      else markLost(PROBE, cause);
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
