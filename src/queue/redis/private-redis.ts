import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { backoffMs } from '../../core/backoff.ts';
import { sleep, systemClock } from '../../core/clock.ts';
import { withTimeout } from '../../core/deadline.ts';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { isProcessRunning } from '../../core/process/process-liveness.ts';
import { RedisMissingError, RedisStartError } from '../errors.ts';
import {
  APPEND_FOLDER,
  moveDataAside,
  prepareServerFolder,
  REDIS_LOG_FILE,
  removeSocketFolder,
  type ServerFolder,
  serverLogHint,
  serverLogTail,
} from './server-folder.ts';
import { isSocketListening, type RedisTarget } from './target.ts';

const RESTART_BACKOFF = { baseMs: 250, maxMs: 30_000 };
/** A server that ran this long is restarted without delay. */
const STABLE_UPTIME_MS = 60_000;

export interface PrivateRedisOptions {
  /**
   * The folder of this server, which nothing else may use. It is created with mode 0700. The caller ensures that no
   * other process starts a server in it at the same time.
   */
  dir: string;
  logger: Logger;
}

export interface PrivateRedis {
  readonly target: RedisTarget;
  readonly pid: number;
  /** Stops the server and waits for its exit. May be called twice. */
  close(): Promise<void>;
}

/**
 * Starts a private Redis server for the ledger, and restarts it whenever it exits. A server that a killed daemon left
 * behind is stopped first, because two servers on the same files would corrupt the queue. Throws `redis_missing` if
 * `redis-server` is not on PATH, and `redis_start_failed` if the server does not start.
 */
export async function startPrivateRedis({ dir, logger }: PrivateRedisOptions): Promise<PrivateRedis> {
  const folder = prepareServerFolder(dir);
  const stopping = new AbortController();
  let failures = 0;
  let startedMs = 0;
  let restart: Promise<void> | null = null;
  const superviseServer = (server: ChildProcess): ChildProcess => {
    startedMs = systemClock.monotonic();
    const onExit = (): void => {
      if (!stopping.signal.aborted) restart = restartServer();
    };
    if (hasExited(server)) onExit();
    else server.once('exit', onExit);
    return server;
  };
  let server = superviseServer(await startFreshServer(folder, logger));
  logger.info({ pid: server.pid, socket: folder.socketPath }, 'private Redis is ready');

  const restartServer = async (): Promise<void> => {
    logger.warn({ pid: server.pid }, 'private Redis exited');
    if (systemClock.monotonic() - startedMs > STABLE_UPTIME_MS) failures = 0;
    while (!stopping.signal.aborted) {
      const waitMs = failures === 0 ? 0 : backoffMs(failures, RESTART_BACKOFF);
      failures += 1;
      try {
        await sleep(systemClock, waitMs, stopping.signal);
        server = superviseServer(await startFreshServer(folder, logger));
        logger.warn({ pid: server.pid }, 'private Redis restarted');
        return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        logger.error({ reason: messageOf(error), failures }, 'cannot restart private Redis');
      }
    }
  };

  const shutDown = async (): Promise<void> => {
    stopping.abort();
    await restart;
    await stopServer(folder, server.pid);
    removeSocketFolder(folder);
  };
  let closed: Promise<void> | undefined;
  return {
    target: { kind: 'socket', path: folder.socketPath },
    get pid() {
      return server.pid ?? 0;
    },
    close() {
      closed ??= shutDown();
      return closed;
    },
  };
}

/** Time limit for the start. It takes 12 to 41 ms with an empty queue, and seconds with a large append-only file. */
const READY_TIMEOUT_MS = 20_000;
/** Time that the server gets to shut down before it is killed. */
const SHUTDOWN_TIMEOUT_MS = 5_000;
const POLL_MS = 10;

/**
 * Stops a server that a killed daemon left in the folder, starts a new one, and waits until it accepts commands. Throws
 * `redis_missing` or `redis_start_failed`.
 */
async function startFreshServer(folder: ServerFolder, logger: Logger): Promise<ChildProcess> {
  await stopServer(folder);
  try {
    return await startServer(folder);
  } catch (error) {
    if (!(error instanceof RedisStartError) || !moveDataAside(folder.dir)) throw error;
    // Starts with an empty queue rather than not at all. Nothing is lost, because all jobs follow from the ledger.
    logger.error({ reason: error.message, dir: folder.dir }, 'moved the damaged queue data aside; Redis starts empty');
    return startServer(folder);
  }
}

async function startServer(folder: ServerFolder): Promise<ChildProcess> {
  const child = await spawnServer(folder);
  try {
    await waitUntilReady(folder, child);
    return child;
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function waitUntilReady(folder: ServerFolder, child: ChildProcess | null): Promise<number> {
  const connection = new Redis({ path: folder.socketPath, maxRetriesPerRequest: null, retryStrategy: () => POLL_MS });
  connection.on('error', () => undefined);
  const exited = new Promise<null>((resolve) => {
    child?.once('exit', () => resolve(null));
    if (child !== null && hasExited(child)) resolve(null);
  });
  try {
    const info = await withTimeout(Promise.race([connection.info('server'), exited]), READY_TIMEOUT_MS).catch(() => {
      throw new RedisStartError('it does not respond', serverLogHint(folder.dir));
    });
    if (info === null) {
      throw new RedisStartError(`it exited at once: ${serverLogTail(folder.dir)}`, serverLogHint(folder.dir));
    }
    return Number(/^process_id:(\d+)/m.exec(info)?.[1]);
  } finally {
    connection.disconnect();
  }
}

/**
 * Starts a server and returns its process, which may still be loading its data. The server has its own process group,
 * so that Ctrl-C in a terminal does not end it: the daemon needs Redis while its jobs finish. Throws `redis_missing`.
 */
export function spawnServer({ dir, socketPath }: ServerFolder): Promise<ChildProcess> {
  const options = {
    port: '0',
    unixsocket: socketPath,
    unixsocketperm: '700',
    dir,
    // A power failure may lose the jobs of the last second. The scheduler enqueues them again from the ledger.
    appendonly: 'yes',
    appendfsync: 'everysec',
    appenddirname: APPEND_FOLDER,
    save: '',
    // If memory is full, Redis must refuse new jobs and not drop old ones.
    'maxmemory-policy': 'noeviction',
    daemonize: 'no',
    logfile: join(dir, REDIS_LOG_FILE),
    loglevel: 'warning',
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn('redis-server', args, { cwd: dir, detached: true, stdio: 'ignore' });
  child.unref();
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve(child));
    child.once('error', (error: NodeJS.ErrnoException) => {
      const hint = 'check whether this user can run redis-server';
      reject(error.code === 'ENOENT' ? new RedisMissingError() : new RedisStartError(error.message, hint));
    });
  });
}

/**
 * Stops the server in the folder, if one is running. SHUTDOWN first writes the append-only file. A server that cannot
 * write it, for example because the disk is full, is killed; its jobs can be enqueued again from the ledger.
 */
async function stopServer(folder: ServerFolder, knownPid?: number): Promise<void> {
  const { socketPath } = folder;
  if (!(await isSocketListening(socketPath))) return;
  const pid = knownPid ?? (await waitUntilReady(folder, null));
  await sendCommandOnce(socketPath, (connection) => connection.shutdown());
  await waitForExit(pid);
  // If nothing listens any more, the process with this id is not the server: the system has used the id again.
  if (!isProcessRunning(pid) || !(await isSocketListening(socketPath))) return;
  process.kill(pid, 'SIGKILL');
  await waitForExit(pid);
}

async function waitForExit(pid: number): Promise<void> {
  const end = systemClock.monotonic() + SHUTDOWN_TIMEOUT_MS;
  while (isProcessRunning(pid) && systemClock.monotonic() < end) await sleep(systemClock, POLL_MS);
}

/**
 * Sends one command on a new connection that never reconnects: a repeated SHUTDOWN would stop the next server. Returns
 * null if the server sends no reply, which is the case for a SHUTDOWN that succeeds.
 */
async function sendCommandOnce(socketPath: string, command: (connection: Redis) => Promise<unknown>): Promise<unknown> {
  const connection = new Redis({ path: socketPath, retryStrategy: () => null, commandTimeout: SHUTDOWN_TIMEOUT_MS });
  connection.on('error', () => undefined);
  try {
    return await command(connection);
  } catch {
    return null;
  } finally {
    // If the server has closed the connection, `disconnect` would keep this process alive for two seconds.
    if (connection.status !== 'end') connection.disconnect();
  }
}
