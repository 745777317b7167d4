import { createHash } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, realpathSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { AppError } from '../../core/errors.ts';

/** The kernel's limit for the path of a unix socket is 107 bytes on Linux and 103 on macOS. */
const MAX_SOCKET_PATH_BYTES = 103;
export const LOG_FILE = 'redis.log';
export const APPEND_FOLDER = 'appendonlydir';

/** The files of one private server. */
export interface ServerFolder {
  /** Data and log; canonical, so that every daemon of a ledger comes to the same socket. */
  dir: string;
  socketPath: string;
}

/** Makes the folder (0700), and a short one for the socket where its own path would be too long. */
export function prepareServerFolder(wanted: string): ServerFolder {
  mkdirSync(wanted, { recursive: true, mode: 0o700 });
  chmodSync(wanted, 0o700);
  const dir = realpathSync(wanted);
  const socketPath = join(dir, 'redis.sock');
  if (Buffer.byteLength(socketPath) <= MAX_SOCKET_PATH_BYTES) return { dir, socketPath };

  const name = `usage-ledger-${createHash('sha256').update(dir).digest('hex').slice(0, 16)}`;
  const roots = [tmpdir(), '/tmp'];
  const root = roots.find((place) => Buffer.byteLength(join(place, name, 'redis.sock')) <= MAX_SOCKET_PATH_BYTES);
  const folder = join(root ?? '/tmp', name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  // Everybody may write to the temporary folder: one that somebody else prepared would give our queue away.
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) {
    throw new AppError('unsafe_socket_folder', `${folder} belongs to somebody else`, {
      hint: 'remove it, or put the ledger where the path is shorter',
    });
  }
  return { dir, socketPath: join(folder, 'redis.sock') };
}

/** Removes what a stopped server leaves outside its folder. */
export function removeSocketFolder({ dir, socketPath }: ServerFolder): void {
  const folder = dirname(socketPath);
  if (folder !== dir) rmSync(folder, { recursive: true, force: true });
}

/** The last lines that the server wrote. */
export function serverLogTail(dir: string): string {
  const path = join(dir, LOG_FILE);
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().split('\n').slice(-5).join('\n') : 'it wrote no log';
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
