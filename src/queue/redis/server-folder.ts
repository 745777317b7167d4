import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { AppError } from '../../core/errors.ts';
import { requireSafePlace } from '../../core/process/safe-place.ts';

/** The kernel's limit for the path of a unix socket is 107 bytes on Linux and 103 on macOS. */
const MAX_SOCKET_PATH_BYTES = 103;
export const LOG_FILE = 'redis.log';
export const APPEND_FOLDER = 'appendonlydir';
const OWN_FILES = [LOG_FILE, APPEND_FOLDER, 'redis.sock'];

export interface ServerFolder {
  /** Data and log; canonical, so that every path of a ledger leads to the same socket. */
  dir: string;
  socketPath: string;
}

/** Makes the folder (0700), and the one for the socket where that is another. Refuses what `serverFolderAt` does. */
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
 * The folder, and in it the socket, or where its path would be too long in one in `XDG_RUNTIME_DIR`. Makes nothing. Refuses,
 * with `unsafe_place`, what somebody else could write to, and with `socket_path_too_long` where no short path is left.
 */
export function serverFolderAt(wanted: string, runtimeFolder = process.env.XDG_RUNTIME_DIR): ServerFolder {
  requireSafePlace(wanted, 'the folder of the private Redis');
  const dir = existsSync(wanted) ? realpathSync(wanted) : wanted;
  for (const name of OWN_FILES) requireSafePlace(join(dir, name), 'the file of the private Redis');
  const socketPath = join(dir, 'redis.sock');
  if (isShort(socketPath)) return { dir, socketPath };

  const name = `usage-ledger-${createHash('sha256').update(dir).digest('hex').slice(0, 16)}`;
  const folder = join(runtimeFolder ?? '', name);
  if (!isAbsolute(folder) || !isShort(join(folder, 'redis.sock'))) {
    throw new AppError('socket_path_too_long', `${socketPath} is too long for a socket`, {
      hint: 'put the ledger where the path is shorter, or set XDG_RUNTIME_DIR to a folder of this user, or set redis_url',
    });
  }
  requireSafePlace(dirname(folder), 'XDG_RUNTIME_DIR');
  return { dir, socketPath: join(folder, 'redis.sock') };
}

function isShort(socketPath: string): boolean {
  return Buffer.byteLength(socketPath) <= MAX_SOCKET_PATH_BYTES;
}

export function removeSocketFolder({ dir, socketPath }: ServerFolder): void {
  const folder = dirname(socketPath);
  if (folder !== dir) rmSync(folder, { recursive: true, force: true });
}

export function serverLogTail(dir: string): string {
  const path = join(dir, LOG_FILE);
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n').slice(-5).join('\n') : 'it wrote no log';
}

/** Names the log only when the server wrote one: a server that cannot start at all leaves none. */
export function logHint(dir: string): string {
  const path = join(dir, LOG_FILE);
  if (existsSync(path) && readFileSync(path, 'utf8').trim() !== '') return `see ${path}`;
  return 'run `redis-server` by hand as this user to see why, or set redis_url to a Redis that runs already';
}

/** Puts the stored queue aside, so that a damaged one does not keep the server down; false when there is none. */
export function setDataAside(dir: string): boolean {
  const data = join(dir, APPEND_FOLDER);
  if (!existsSync(data)) return false;
  const aside = `${data}.damaged`;
  rmSync(aside, { recursive: true, force: true });
  renameSync(data, aside);
  return true;
}
