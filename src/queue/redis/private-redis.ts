import { join } from 'node:path';
import { Redis } from 'ioredis';
import { sleep, systemClock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { backoffMs } from '../../core/net/backoff.ts';
import { oneAtATime } from '../../core/one-at-a-time.ts';
import { randomId } from '../../core/randomness.ts';
import type { RedisTarget } from './connection.ts';
import { withFolderLock } from './folder-lock.ts';
import { askOnce, ensureServer, stopServer } from './redis-server.ts';
import { LOCK_FILE, prepareServerFolder, removeSocketFolder } from './server-folder.ts';

const LOCK_WAIT_MS = 30_000;
const RESTART_BACKOFF = { baseMs: 250, maxMs: 30_000 };
/** A server that ran this long is started again without a wait when it dies. */
const STABLE_AFTER_MS = 60_000;
/** Every daemon that uses the server holds one connection of such a name: that is how they see one another. */
const PRESENCE_PREFIX = 'usage-ledger-presence-';

export interface PrivateRedisOptions {
  /** A folder for the server alone; it is made 0700. */
  dir: string;
  logger: Logger;
}

/** A `redis-server` that belongs to one ledger and lives as long as a daemon uses it. */
export interface PrivateRedis {
  readonly target: RedisTarget;
  /** Process id of the server that runs now. */
  readonly pid: number;
  /** True when a server was running already: that of another daemon, or of one that was killed. */
  readonly adopted: boolean;
  /** Stops the server, unless another daemon uses it, and waits until it is gone. May be called twice. */
  close(): Promise<void>;
}

/**
 * Starts the ledger's Redis or adopts the one that runs; a second server on the same files would corrupt the queue. It
 * is started again when it dies. Fails with `redis_missing` when there is no `redis-server` on PATH and with
 * `redis_start_failed` when it does not come up.
 */
export async function startPrivateRedis({ dir, logger }: PrivateRedisOptions): Promise<PrivateRedis> {
  const folder = prepareServerFolder(dir);
  const lockPath = join(folder.dir, LOCK_FILE);
  const locked = <T>(work: () => Promise<T>): Promise<T> => withFolderLock(lockPath, LOCK_WAIT_MS, work);
  const stopping = new AbortController();
  const presence = openPresence(folder.socketPath);
  let server = await locked(async () => {
    const found = await ensureServer(folder, logger);
    // Inside the lock: a daemon that stops right now must see that the server is in use.
    await presence.connect();
    return found;
  }).catch((error) => {
    presence.disconnect();
    throw error;
  });
  const { adopted } = server;
  logger.info({ pid: server.pid, socket: folder.socketPath, adopted }, 'private Redis is ready');

  let failures = 0;
  let upSince = systemClock.monotonic();
  const restart = oneAtATime(async () => {
    logger.warn({ pid: server.pid }, 'private Redis is gone');
    if (systemClock.monotonic() - upSince > STABLE_AFTER_MS) failures = 0;
    while (!stopping.signal.aborted) {
      const waitMs = failures === 0 ? 0 : backoffMs(failures, RESTART_BACKOFF);
      failures += 1;
      try {
        await sleep(systemClock, waitMs, stopping.signal);
        server = await locked(() => ensureServer(folder, logger));
        upSince = systemClock.monotonic();
        logger.warn({ pid: server.pid }, 'private Redis runs again');
        return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        const reason = messageOf(error);
        logger.error({ reason, failures }, 'private Redis did not start again');
      }
    }
  });
  // Each attempt to reconnect fails in the same way while the server is away: one restart answers them all.
  presence.on('reconnecting', () => {
    if (!stopping.signal.aborted) void restart.run();
  });

  const shutDown = async (): Promise<void> => {
    stopping.abort();
    await restart.rest();
    await locked(async () => {
      const others = await othersPresent(folder.socketPath, nameOf(presence));
      // Inside the lock: two daemons that stop at once must not both leave the server to the other.
      presence.disconnect();
      if (others > 0) logger.info({ others }, 'private Redis is left to the other daemons that use it');
      else {
        await stopServer(folder, server.pid);
        removeSocketFolder(folder);
      }
    });
  };
  let closed: Promise<void> | undefined;
  return {
    target: { kind: 'socket', path: folder.socketPath },
    get pid() {
      return server.pid;
    },
    adopted,
    close() {
      closed ??= shutDown();
      return closed;
    },
  };
}

function openPresence(socketPath: string): Redis {
  const connection = new Redis({
    path: socketPath,
    connectionName: `${PRESENCE_PREFIX}${process.pid}-${randomId()}`,
    lazyConnect: true,
    maxRetriesPerRequest: null,
    retryStrategy: (attempt) => backoffMs(attempt, { baseMs: 20, maxMs: 500 }),
  });
  // Without a listener it would end the process. What it has to say is answered by the restart.
  connection.on('error', () => undefined);
  return connection;
}

function nameOf(connection: Redis): string {
  return connection.options.connectionName ?? '';
}

/** How many other daemons are connected; none when the server does not answer. */
async function othersPresent(socketPath: string, own: string): Promise<number> {
  const list = await askOnce(socketPath, (connection) => connection.client('LIST'));
  if (typeof list !== 'string') return 0;
  const names = [...list.matchAll(/ name=(\S+)/g)].map((match) => match[1] ?? '');
  return new Set(names.filter((name) => name.startsWith(PRESENCE_PREFIX) && name !== own)).size;
}
