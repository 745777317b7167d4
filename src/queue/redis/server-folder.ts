import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { AppError } from '../../core/errors.ts';
import { requireSafePlace } from '../../core/process/safe-place.ts';

/** The kernel limits the path of a unix socket to 107 bytes on Linux and 103 on macOS. */
const MAX_SOCKET_PATH_BYTES = 103;
export const REDIS_LOG_FILE = 'redis.log';
export const APPEND_FOLDER = 'appendonlydir';
const SERVER_FILES = [REDIS_LOG_FILE, APPEND_FOLDER, 'redis.sock'];

export interface ServerFolder {
  /** Folder of data and log. Canonical, so that every path to a ledger leads to the same socket. */
  dir: string;
  socketPath: string;
}

/**
 * Creates the folder, and the socket's folder if it is another, with mode 0700. Throws the errors of `serverFolderAt`.
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
 * Returns the folder and socket path without creating anything. The socket is in the folder, or in one in
 * `XDG_RUNTIME_DIR` if its path would be too long. Throws `unsafe_place` if other users could write there, and
 * `socket_path_too_long` if no short path exists.
 */
export function serverFolderAt(wanted: string, runtimeFolder = process.env.XDG_RUNTIME_DIR): ServerFolder {
  requireSafePlace(wanted, 'the folder of the private Redis');
  const dir = existsSync(wanted) ? realpathSync(wanted) : wanted;
  for (const name of SERVER_FILES) requireSafePlace(join(dir, name), 'the file of the private Redis');
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

/** Returns a hint that names the log if the server wrote one: a server that cannot start leaves none. */
export function logHint(dir: string): string {
  const path = join(dir, REDIS_LOG_FILE);
  if (existsSync(path) && readFileSync(path, 'utf8').trim() !== '') return `see ${path}`;
  return 'run `redis-server` manually as this user to see the cause, or set redis_url to a running Redis';
}

/** Renames the stored queue, so that a damaged one does not keep the server down. Returns false if there is none. */
export function moveDataAside(dir: string): boolean {
  const data = join(dir, APPEND_FOLDER);
  if (!existsSync(data)) return false;
  const backup = `${data}.damaged`;
  rmSync(backup, { recursive: true, force: true });
  renameSync(data, backup);
  return true;
}
