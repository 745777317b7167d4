/**
 * The address of a Redis server: `url` is the given address for TCP, `path` is the path of a unix socket. `db` is 0 if
 * the address names no database.
 */
export type RedisAddress = { db: number; username: string; password: string } & (
  | { kind: 'url'; url: string }
  | { kind: 'socket'; path: string }
);

export const REDIS_FORMS =
  'redis://[user:password@]host:port[/db], rediss:// for TLS, or unix:///run/redis/redis.sock[?db=N]';

/**
 * The problem of an address whose password contains characters that end the password early or make the address
 * ambiguous.
 */
const NOT_ENCODED = 'is not an address: percent-encode #, %, @, / and ? in the password (%23, %25, %40, %2F, %3F)';

/**
 * Matches scheme, user information, host, path and query; no fragment. The last @ before the path ends the user
 * information.
 */
const ADDRESS =
  /^(?<scheme>[a-z][a-z0-9+.-]*):\/\/(?:(?<user>[^/?#\s]*)@)?(?<host>[^@/?#\s]*)(?<path>\/[^?#\s]*)?(?:\?(?<query>[^#\s]*))?$/i;

const TCP_SCHEMES = ['redis', 'rediss'];
const SOCKET_SCHEMES = ['unix', 'redis+unix'];

/**
 * Parses `redis_url`. If the address is invalid, returns a string that describes the problem. The string contains no
 * part of the address, which may contain a password.
 */
export function parseRedisAddress(text: string): RedisAddress | string {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase() ?? '';
  if (text.startsWith('/')) return 'is the path of a socket: write unix:// before it';
  if (![...TCP_SCHEMES, ...SOCKET_SCHEMES].includes(scheme)) {
    return URL.canParse(text) && !/\s/.test(text)
      ? 'is not a redis://, rediss:// or unix:// address'
      : 'is not an address';
  }
  const parts = ADDRESS.exec(text)?.groups;
  if (parts === undefined) return text.includes('@') || text.includes('#') ? NOT_ENCODED : 'is not an address';
  const { user = '', host = '', path = '', query = '' } = parts;
  const colon = user.indexOf(':');
  const options = new URLSearchParams(query);
  const username = decoded(colon < 0 ? user : user.slice(0, colon)) ?? null;
  const password = decoded(colon < 0 ? '' : user.slice(colon + 1)) ?? null;
  if (username === null || password === null) return NOT_ENCODED;
  const login = {
    username: username || (options.get('username') ?? ''),
    password: password || (options.get('password') ?? ''),
  };
  return TCP_SCHEMES.includes(scheme)
    ? tcpAddress(text, { host, path, options, login })
    : socketAddress({ host, path, options, login });
}

interface Parts {
  host: string;
  path: string;
  options: URLSearchParams;
  login: { username: string; password: string };
}

function tcpAddress(url: string, { host, path, options, login }: Parts): RedisAddress | string {
  if (host === '' || host.startsWith(':')) return 'names no host';
  if (!URL.canParse(url)) return url.includes('@') ? NOT_ENCODED : 'is not an address';
  const db = databaseNumber(path.replace(/^\//, '') || (options.get('db') ?? ''));
  if (db === null && path.includes('@')) return NOT_ENCODED;
  return db === null ? 'names a database that is not a number' : { kind: 'url', url, db, ...login };
}

function socketAddress({ host, path, options, login }: Parts): RedisAddress | string {
  if (host !== '') return 'names a host before the path of the socket: write unix:/// with three slashes';
  const socketPath = decoded(path);
  if (socketPath === null) return 'is not an address: percent-encode % in the path as %25';
  if (socketPath === '' || socketPath === '/') return 'names no socket';
  const db = databaseNumber(options.get('db') ?? '');
  return db === null ? 'names a database that is not a number' : { kind: 'socket', path: socketPath, db, ...login };
}

function databaseNumber(text: string): number | null {
  if (text === '') return 0;
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
