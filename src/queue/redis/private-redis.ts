import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { sleep, systemClock } from '../../core/clock.ts';
import { withTimeout } from '../../core/deadline.ts';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { backoffMs } from '../../core/net/retry.ts';
import { isProcessRunning } from '../../core/process/process-liveness.ts';
import { RedisMissingError, RedisStartError } from '../errors.ts';
import {
  APPEND_FOLDER,
  LOG_FILE,
  logHint,
  prepareServerFolder,
  removeSocketFolder,
  type ServerFolder,
  serverLogTail,
  setDataAside,
} from './server-folder.ts';
import { isListening, type RedisTarget } from './target.ts';

const RESTART_BACKOFF = { baseMs: 250, maxMs: 30_000 };
/** A server that ran this long is started again without a wait when it dies. */
const STABLE_AFTER_MS = 60_000;

export interface PrivateRedisOptions {
  /** A folder for the server alone; it is made 0700. Nobody else may start a server in it meanwhile. */
  dir: string;
  logger: Logger;
}

export interface PrivateRedis {
  readonly target: RedisTarget;
  readonly pid: number;
  /** Stops the server and waits until it is gone. May be called twice. */
  close(): Promise<void>;
}

/**
 * Starts the ledger's Redis, once one that a killed daemon has left is stopped: two servers on the same files would corrupt
 * the queue. It is started again when it dies. Fails with `redis_missing` when there is no `redis-server` on PATH and with
 * `redis_start_failed` when it does not come up.
 */
export async function startPrivateRedis({ dir, logger }: PrivateRedisOptions): Promise<PrivateRedis> {
  const folder = prepareServerFolder(dir);
  const stopping = new AbortController();
  let failures = 0;
  let upSince = 0;
  let restart: Promise<void> | null = null;
  const watch = (server: ChildProcess): ChildProcess => {
    upSince = systemClock.monotonic();
    const onExit = (): void => {
      if (!stopping.signal.aborted) restart = startAgain();
    };
    if (hasExited(server)) onExit();
    else server.once('exit', onExit);
    return server;
  };
  let server = watch(await beginServer(folder, logger));
  logger.info({ pid: server.pid, socket: folder.socketPath }, 'private Redis is ready');

  const startAgain = async (): Promise<void> => {
    logger.warn({ pid: server.pid }, 'private Redis is gone');
    if (systemClock.monotonic() - upSince > STABLE_AFTER_MS) failures = 0;
    while (!stopping.signal.aborted) {
      const waitMs = failures === 0 ? 0 : backoffMs(failures, RESTART_BACKOFF);
      failures += 1;
      try {
        await sleep(systemClock, waitMs, stopping.signal);
        server = watch(await beginServer(folder, logger));
        logger.warn({ pid: server.pid }, 'private Redis runs again');
        return;
      } catch (error) {
        if (stopping.signal.aborted) return;
        logger.error({ reason: messageOf(error), failures }, 'private Redis did not start again');
      }
    }
  };

  const shutDown = async (): Promise<void> => {
    stopping.abort();
    await restart;
    await endServer(folder, server.pid);
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

/** Loading a large append-only file takes seconds; an empty one 12 to 41 ms. */
const READY_TIMEOUT_MS = 20_000;
/** From the request to shut down until the server is killed. */
const SHUTDOWN_TIMEOUT_MS = 5_000;
const POLL_MS = 10;

/**
 * Starts a server in this folder and waits until it takes commands. One that a killed daemon has left is stopped first. Fails
 * with `redis_missing` or `redis_start_failed`.
 */
async function beginServer(folder: ServerFolder, logger: Logger): Promise<ChildProcess> {
  await endServer(folder);
  try {
    return await startServer(folder);
  } catch (error) {
    if (!(error instanceof RedisStartError) || !setDataAside(folder.dir)) throw error;
    // What the queue held is due in the ledger still; a daemon that does not start is the greater harm.
    logger.error({ reason: error.message, dir: folder.dir }, 'the stored queue was put aside, Redis starts empty');
    return startServer(folder);
  }
}

async function startServer(folder: ServerFolder): Promise<ChildProcess> {
  const child = await spawnServer(folder);
  try {
    await pidWhenReady(folder, child);
    return child;
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function pidWhenReady(folder: ServerFolder, child: ChildProcess | null): Promise<number> {
  const connection = new Redis({ path: folder.socketPath, maxRetriesPerRequest: null, retryStrategy: () => POLL_MS });
  connection.on('error', () => undefined);
  const ended = new Promise<null>((resolve) => {
    child?.once('exit', () => resolve(null));
    if (child !== null && hasExited(child)) resolve(null);
  });
  try {
    const info = await withTimeout(Promise.race([connection.info('server'), ended]), READY_TIMEOUT_MS).catch(() => {
      throw new RedisStartError('it does not answer', logHint(folder.dir));
    });
    if (info === null) {
      throw new RedisStartError(`it ended at once: ${serverLogTail(folder.dir)}`, logHint(folder.dir));
    }
    return Number(/^process_id:(\d+)/m.exec(info)?.[1]);
  } finally {
    connection.disconnect();
  }
}

/**
 * Starts a server and returns its process, which may still be loading. It leads a process group of its own: Ctrl-C in a
 * terminal reaches the daemon's group, and the daemon needs Redis while it drains. Fails with `redis_missing`.
 */
export function spawnServer({ dir, socketPath }: ServerFolder): Promise<ChildProcess> {
  const options = {
    port: '0',
    unixsocket: socketPath,
    unixsocketperm: '700',
    dir,
    // A second of jobs may be lost with the machine; they are derived from the ledger again.
    appendonly: 'yes',
    appendfsync: 'everysec',
    appenddirname: APPEND_FOLDER,
    save: '',
    // A queue must refuse new jobs when memory is short, not forget old ones.
    'maxmemory-policy': 'noeviction',
    daemonize: 'no',
    logfile: join(dir, LOG_FILE),
    loglevel: 'warning',
  };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn('redis-server', args, { cwd: dir, detached: true, stdio: 'ignore' });
  child.unref();
  return new Promise((resolve, reject) => {
    child.once('spawn', () => resolve(child));
    child.once('error', (error: NodeJS.ErrnoException) => {
      const hint = 'see whether redis-server can be run by this user';
      reject(error.code === 'ENOENT' ? new RedisMissingError() : new RedisStartError(error.message, hint));
    });
  });
}

/**
 * Stops the server of this folder, if one listens. SHUTDOWN writes the append-only file out; a server that cannot (a full disk)
 * is killed: its jobs are in the ledger.
 */
async function endServer(folder: ServerFolder, known?: number): Promise<void> {
  const { socketPath } = folder;
  if (!(await isListening(socketPath))) return;
  const pid = known ?? (await pidWhenReady(folder, null));
  await askOnce(socketPath, (connection) => connection.shutdown());
  await untilGone(pid);
  // Whoever has this id and does not listen is another process, which was given it since.
  if (!isProcessRunning(pid) || !(await isListening(socketPath))) return;
  process.kill(pid, 'SIGKILL');
  await untilGone(pid);
}

async function untilGone(pid: number): Promise<void> {
  const end = systemClock.monotonic() + SHUTDOWN_TIMEOUT_MS;
  while (isProcessRunning(pid) && systemClock.monotonic() < end) await sleep(systemClock, POLL_MS);
}

/**
 * One command on a connection of its own that is never made again: a repeated SHUTDOWN would hit the next server. Null
 * when it fails, as SHUTDOWN does by its nature when the server is gone.
 */
async function askOnce(socketPath: string, command: (connection: Redis) => Promise<unknown>): Promise<unknown> {
  const connection = new Redis({ path: socketPath, retryStrategy: () => null, commandTimeout: SHUTDOWN_TIMEOUT_MS });
  connection.on('error', () => undefined);
  try {
    return await command(connection);
  } catch {
    return null;
  } finally {
    // Of one that the server has ended ioredis waits two seconds for the end, and the process with it.
    if (connection.status !== 'end') connection.disconnect();
  }
}
