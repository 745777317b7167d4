import type { ChildProcess } from 'node:child_process';
import { sleep, systemClock } from '../../core/clock.ts';
import { messageOf } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import { backoffMs } from '../../core/net/retry.ts';
import { beginServer, endServer, hasExited } from './redis-server.ts';
import { prepareServerFolder, removeSocketFolder } from './server-folder.ts';
import type { RedisTarget } from './target.ts';

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
