import { connect } from 'node:net';

/** Where Redis is: an address such as `redis://host:6379/0`, or the path of a unix socket. */
export type RedisTarget = { kind: 'url'; url: string } | { kind: 'socket'; path: string };

export function privateRedisFolder(ledgerPath: string): string {
  return `${ledgerPath}.redis`;
}

/** The target in words for logs and errors, without user, password or query. */
export function describeTarget(target: RedisTarget): string {
  if (target.kind === 'socket') return target.path;
  if (!URL.canParse(target.url)) return 'redis_url';
  const { protocol, host, pathname } = new URL(target.url);
  return `${protocol}//${host}${pathname}`;
}

/** True when a process accepts connections on the socket. A server that is busy or still loading does, too. */
export function isListening(socketPath: string): Promise<boolean> {
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
