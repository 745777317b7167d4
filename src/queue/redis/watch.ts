import type { Redis } from 'ioredis';
import type { Logger } from '../../core/logger.ts';
import { redisAccessOf } from './probe.ts';
import { type RedisFault, toRedisFault } from './refusals.ts';
import { describeTarget, type RedisTarget } from './target.ts';

/**
 * The result of the probe is kept under this name beside the states of the connections, because Redis may refuse commands
 * although all connections are fine.
 */
const PROBE = 'probe';

/**
 * Whether Redis is up, over all connections to it. Redis is up if all connections are ready and the last probe passed.
 * The log gets one line when an outage begins, one for each new cause, and one when it ends, however many connections
 * notice it. Only codes and messages are logged: the errors of ioredis also contain the arguments of a failed command,
 * and for AUTH these include the password.
 */
export interface RedisWatch {
  readonly isUp: boolean;
  /** The cause of the outage; null while Redis is up and before the first probe has ended. */
  readonly fault: RedisFault | null;
  /** False before the first probe, and after a refusal or a lost connection until a probe passes. */
  readonly hasPassedProbe: boolean;
  /** Watches a connection, which logs name as `name`. */
  add(name: string, connection: Redis): void;
  /** Records the result of a probe: its fault, or null if it passed. */
  recordProbe(fault: RedisFault | null): void;
  /** Reopens all connections, because the server's name may lead to another primary by now. */
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
    // After a reconnect the server may be another one or still load its data, so a probe must pass again.
    notReady.add(PROBE);
    // Connections that are lost together report different reasons, one after another. Only the first one is logged.
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
      connection.on('error', (error: Error) => markLost(name, toRedisFault(error, redisAccessOf(connection))));
      // Listens to 'reconnecting' and not to 'close', which also follows when this program closes the connection.
      connection.on('reconnecting', () => {
        const cause = isOutage ? fault : null;
        markLost(name, cause ?? toRedisFault(new Error('the connection was lost'), redisAccessOf(connection)));
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
