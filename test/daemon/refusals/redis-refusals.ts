import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { until } from '../../queue/support.ts';
import type { RefusalRow, RefusingDependency } from './refusal-harness.ts';

const USER = 'ledger';
const PASSWORD = 'example-password';
/** What the documentation asks for (docs/operate.md). */
const DOCUMENTED_RIGHTS = [
  'resetchannels',
  '~bull:ul-*',
  '+@read',
  '+@write',
  '-@dangerous',
  '+eval',
  '+evalsha',
  '+select',
];

interface Server {
  readonly admin: Redis;
  readonly socketPath: string;
  /** Disconnects the daemon, so that its next command comes over a new connection. */
  disconnectDaemon(): Promise<void>;
  /** Starts the server again on the same socket, empty, with other options. */
  restart(...more: string[]): Promise<void>;
  stop(): Promise<void>;
}

interface RedisRow extends Pick<RefusalRow, 'name' | 'phases' | 'readyReason' | 'doctorWords' | 'remedyWords'> {
  refuse(server: Server): Promise<unknown>;
  grant(server: Server): Promise<unknown>;
  /** The query of `redis_url`, such as `db=3`. */
  query?: string;
  /** Whether `redis_url` has no user and password. */
  isAnonymous?: boolean;
}

const acl = ({ admin }: Server, ...rules: string[]): Promise<unknown> => admin.call('ACL', 'SETUSER', USER, ...rules);
const set = ({ admin }: Server, name: string, value: string): Promise<unknown> => admin.config('SET', name, value);

/** A user without these rights, and with all documented ones again. */
function denied(rules: readonly string[], words: { reason: RegExp; remedy: RegExp }): RedisRow {
  return {
    name: `NOPERM ${rules.join(' ')}`,
    refuse: (server) => acl(server, ...rules),
    grant: (server) => acl(server, 'resetkeys', ...DOCUMENTED_RIGHTS),
    readyReason: words.reason,
    doctorWords: words.reason,
    remedyWords: words.remedy,
  };
}

const ROWS: readonly RedisRow[] = [
  {
    // shared/field: a managed Redis whose user may not run INFO, EVAL or PING.
    ...denied(['-@all', '+@read', '+@write', '-@dangerous', '-@connection'], {
      reason: /user "ledger" may not run EVAL and EVALSHA \(NOPERM\)/,
      remedy: /ACL SETUSER ledger \+eval \+evalsha/,
    }),
    name: 'NOPERM info, eval, ping',
  },
  denied(['-xadd'], { reason: /user "ledger" may not run XADD \(NOPERM\)/, remedy: /ACL SETUSER ledger \+xadd/ }),
  denied(['-bzpopmin', '-set'], {
    reason: /may not run (SET and BZPOPMIN|BZPOPMIN and SET)/,
    remedy: /\+(set|bzpopmin) \+/,
  }),
  denied(['resetkeys', '~other:*'], { reason: /may not use the keys bull:ul-\*/, remedy: /~bull:ul-\*/ }),
  {
    name: 'READONLY',
    refuse: ({ admin }) => admin.call('REPLICAOF', '127.0.0.1', '1'),
    grant: ({ admin }) => admin.call('REPLICAOF', 'NO', 'ONE'),
    readyReason: /read-only replica \(READONLY\)/,
    doctorWords: /read-only replica \(READONLY\)/,
    remedyWords: /point redis_url at the primary/,
  },
  {
    name: 'OOM',
    refuse: (server) => set(server, 'maxmemory', '1'),
    grant: (server) => set(server, 'maxmemory', '0'),
    readyReason: /memory is full \(OOM\)/,
    doctorWords: /memory is full \(OOM\)/,
    remedyWords: /raise maxmemory/,
  },
  {
    name: 'LOADING',
    async refuse(server) {
      await server.admin.call('DEBUG', 'POPULATE', '6000', 'filler', '1000');
      await set(server, 'key-load-delay', '20000');
      // Answers once it has loaded, and so do the commands after it on this connection.
      const reload = server.admin.duplicate({ retryStrategy: () => null });
      reload.on('error', () => undefined);
      reload.call('DEBUG', 'RELOAD').catch(() => undefined);
      await until('loading', async () => /loading:1/.test(await server.admin.info('persistence')));
    },
    async grant(server) {
      await set(server, 'key-load-delay', '0');
      await until('the end of loading', async () => /loading:0/.test(await server.admin.info('persistence')));
    },
    readyReason: /loading its data from disk \(LOADING\)/,
    doctorWords: /loading its data from disk \(LOADING\)/,
    remedyWords: /wait until it has loaded/,
  },
  {
    name: 'MISCONF',
    async refuse(server) {
      const folder = join(server.socketPath, '..', 'gone');
      mkdirSync(folder, { recursive: true });
      await set(server, 'dir', folder);
      rmSync(folder, { recursive: true });
      await set(server, 'stop-writes-on-bgsave-error', 'yes');
      await set(server, 'save', '3600 1');
      await server.admin.bgsave();
      await until('the failed save', async () =>
        /rdb_last_bgsave_status:err/.test(await server.admin.info('persistence')),
      );
    },
    grant: (server) => set(server, 'stop-writes-on-bgsave-error', 'no'),
    readyReason: /cannot save its data to disk and accepts no writes \(MISCONF\)/,
    doctorWords: /cannot save its data to disk and accepts no writes \(MISCONF\)/,
    remedyWords: /see the log of Redis/,
  },
  {
    name: 'WRONGPASS',
    async refuse(server) {
      await acl(server, 'resetpass', '>another-password');
      await server.disconnectDaemon();
    },
    grant: (server) => acl(server, 'resetpass', `>${PASSWORD}`),
    readyReason: /rejects the user or the password \(WRONGPASS\)/,
    doctorWords: /rejects the user or the password \(WRONGPASS\)/,
    remedyWords: /correct the user and password in redis_url/,
  },
  {
    name: 'NOAUTH',
    isAnonymous: true,
    async refuse({ admin }) {
      await admin.call('ACL', 'SETUSER', 'default', '>another-password');
      // Keeps the connection of the test itself.
      await admin.call('CLIENT', 'KILL', 'USER', 'default', 'SKIPME', 'yes');
    },
    grant: ({ admin }) => admin.call('ACL', 'SETUSER', 'default', 'nopass'),
    readyReason: /requires a password, and redis_url has none \(NOAUTH\)/,
    doctorWords: /requires a password, and redis_url has none \(NOAUTH\)/,
    remedyWords: /add the password to redis_url/,
  },
  {
    name: 'SELECT of a database that may not be selected',
    query: 'db=3',
    async refuse(server) {
      await acl(server, '-select');
      await server.disconnectDaemon();
    },
    grant: (server) => acl(server, ...DOCUMENTED_RIGHTS),
    readyReason: /may not run SELECT \(NOPERM\)/,
    doctorWords: /may not run SELECT \(NOPERM\)/,
    remedyWords: /\+select/,
  },
  {
    name: 'SELECT of a database that does not exist',
    query: 'db=3',
    refuse: (server) => restartWithUser(server, '--databases', '2'),
    grant: (server) => restartWithUser(server),
    readyReason: /has no database 3/,
    doctorWords: /has no database 3/,
    remedyWords: /choose a lower database number/,
  },
];

async function restartWithUser(server: Server, ...options: string[]): Promise<void> {
  await server.restart(...options);
  await acl(server, 'on', `>${PASSWORD}`, ...DOCUMENTED_RIGHTS);
}

export const REDIS_ROWS: readonly RefusalRow[] = ROWS.map((row) => ({
  dependency: 'redis',
  name: row.name,
  readyReason: row.readyReason,
  logWords: row.readyReason as RegExp,
  doctorWords: row.doctorWords,
  remedyWords: row.remedyWords,
  ...(row.phases === undefined ? {} : { phases: row.phases }),
  open: (folder) => openRedis(folder, row),
}));

async function openRedis(folder: string, row: RedisRow): Promise<RefusingDependency> {
  const server = await startServer(folder);
  await acl(server, 'on', `>${PASSWORD}`, ...DOCUMENTED_RIGHTS);
  const login = row.isAnonymous === true ? '' : `${USER}:${PASSWORD}@`;
  const url = `unix://${login}${server.socketPath}${row.query === undefined ? '' : `?${row.query}`}`;
  return {
    settings: { redis_url: url },
    refuse: async () => void (await row.refuse(server)),
    grant: async () => void (await row.grant(server)),
    close: server.stop,
  };
}

export async function startServer(folder: string, ...more: string[]): Promise<Server> {
  const socketPath = join(folder, 'own-redis.sock');
  const options = ['--port', '0', '--unixsocket', socketPath, '--dir', folder, '--save', '', ...more];
  const debug = [
    '--enable-debug-command',
    'yes',
    '--enable-protected-configs',
    'yes',
    '--loading-process-events-interval-bytes',
    '1024',
  ];
  const start = (...others: string[]): ChildProcess =>
    spawn('redis-server', [...options, ...debug, ...others], { stdio: 'ignore' });
  let child = start();
  let exited = once(child, 'exit');
  const admin = new Redis(socketPath, { retryStrategy: () => 20, enableReadyCheck: false, maxRetriesPerRequest: null });
  admin.on('error', () => undefined);
  await until('redis-server', async () => (await admin.ping()) === 'PONG');
  return {
    admin,
    socketPath,
    async disconnectDaemon() {
      await admin.call('CLIENT', 'KILL', 'USER', USER);
    },
    async restart(...others) {
      child.kill('SIGKILL');
      await exited;
      child = start(...others);
      exited = once(child, 'exit');
      await until('redis-server', async () => (await admin.ping()) === 'PONG');
    },
    async stop() {
      admin.disconnect();
      child.kill('SIGKILL');
      await exited;
    },
  };
}
