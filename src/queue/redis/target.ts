import { connect } from 'node:net';
import { parseRedisAddress } from '../../core/text/redis-address.ts';

/** How to reach Redis: an address as in `redis_url`, or the path of a unix socket. */
export type RedisTarget =
  | { kind: 'url'; url: string }
  | { kind: 'socket'; path: string; db?: number; username?: string; password?: string };

export function privateRedisFolder(ledgerPath: string): string {
  return `${ledgerPath}.redis`;
}

/** Formats the address of Redis for logs and errors, without user, password or query. */
export function describeTarget(target: RedisTarget): string {
  if (target.kind === 'socket') return target.path;
  const address = parseRedisAddress(target.url);
  if (typeof address === 'string') return 'redis_url';
  if (address.kind === 'socket') return address.path;
  const { protocol, host, pathname } = new URL(target.url);
  return `${protocol}//${host}${pathname}`;
}

/** Reports whether a process accepts connections on the socket, even a server that is busy or loading its data. */
export function isSocketListening(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    const end = (listening: boolean): void => {
      socket.destroy();
      resolve(listening);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
  });
}
