import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { AppError } from '../../core/errors.ts';
import { requireSafePlace } from '../../core/process/safe-place.ts';

/** The kernel limits the path of a unix socket to 107 bytes on Linux and 103 on macOS. */
const MAX_SOCKET_PATH_BYTES = 103;
export const REDIS_LOG_FILE = 'redis.log';
export const APPEND_FOLDER = 'appendonlydir';
const SERVER_FILES: readonly (readonly [name: string, label: string])[] = [
  [REDIS_LOG_FILE, 'the log of the private Redis'],
  [APPEND_FOLDER, 'the data folder of the private Redis'],
  ['redis.sock', 'the socket of the private Redis'],
];

export interface ServerFolder {
  /** The folder of data and log, without symbolic links: so every path to the same ledger leads to the same socket. */
  dir: string;
  socketPath: string;
}

/**
 * Creates the server's folder with mode 0700, and also the folder of its socket if that is another one. Throws the
 * errors of `serverFolderAt`.
 */
export function prepareServerFolder(wanted: string, runtimeFolder = process.env.XDG_RUNTIME_DIR): ServerFolder {
  mkdirSync(wanted, { recursive: true, mode: 0o700 });
  const place = serverFolderAt(wanted, runtimeFolder);
  chmodSync(wanted, 0o700);
  const folder = dirname(place.socketPath);
  if (folder === place.dir) return place;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  requireSafePlace(folder, 'the folder of the socket');
  chmodSync(folder, 0o700);
  return place;
}

/**
 * Returns the server's folder and the path of its socket without creating anything. The socket is in that folder; if
 * its path would be too long, in a folder inside `XDG_RUNTIME_DIR`. Throws `unsafe_place` if other users could write
 * there, and `socket_path_too_long` if no path is short enough.
 */
export function serverFolderAt(wanted: string, runtimeFolder = process.env.XDG_RUNTIME_DIR): ServerFolder {
  requireSafePlace(wanted, 'the folder of the private Redis');
  const dir = existsSync(wanted) ? realpathSync(wanted) : wanted;
  for (const [name, label] of SERVER_FILES) requireSafePlace(join(dir, name), label);
  const socketPath = join(dir, 'redis.sock');
  if (fitsSocketLimit(socketPath)) return { dir, socketPath };

  const name = `usage-ledger-${createHash('sha256').update(dir).digest('hex').slice(0, 16)}`;
  const folder = join(runtimeFolder ?? '', name);
  if (!isAbsolute(folder) || !fitsSocketLimit(join(folder, 'redis.sock'))) {
    throw new AppError('socket_path_too_long', `${socketPath} is too long for a socket path`, {
      hint: 'move the ledger to a shorter path, set XDG_RUNTIME_DIR to a folder of this user, or set redis_url',
    });
  }
  requireSafePlace(dirname(folder), 'XDG_RUNTIME_DIR');
  return { dir, socketPath: join(folder, 'redis.sock') };
}

function fitsSocketLimit(socketPath: string): boolean {
  return Buffer.byteLength(socketPath) <= MAX_SOCKET_PATH_BYTES;
}

export function removeSocketFolder({ dir, socketPath }: ServerFolder): void {
  const folder = dirname(socketPath);
  if (folder !== dir) rmSync(folder, { recursive: true, force: true });
}

export function serverLogTail(dir: string): string {
  const path = join(dir, REDIS_LOG_FILE);
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n').slice(-5).join('\n') : 'it wrote no log';
}

/** Returns a hint that names the server's log. If the server wrote none, the hint says how to see the cause. */
export function serverLogHint(dir: string): string {
  const path = join(dir, REDIS_LOG_FILE);
  if (existsSync(path) && readFileSync(path, 'utf8').trim() !== '') return `see ${path}`;
  return 'run `redis-server` manually as this user to see the cause, or set redis_url to a running Redis';
}

/** Renames the folder with the queue's data, so that damaged data does not prevent a start. False if there is none. */
export function moveDataAside(dir: string): boolean {
  const data = join(dir, APPEND_FOLDER);
  if (!existsSync(data)) return false;
  const backup = `${data}.damaged`;
  rmSync(backup, { recursive: true, force: true });
  renameSync(data, backup);
  return true;
}
