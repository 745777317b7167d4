import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../core/errors.ts';
import { isProcessRunning } from '../core/process-liveness.ts';

/** Nobody starts or stops a server for longer: a lock this old was left behind, even if its pid is in use again. */
const STALE_AFTER_MS = 60_000;
const RETRY_MS = 20;

/** Tokens of the locks that this process holds: after a restart in a container an old lock can show our own pid. */
const held = new Set<string>();

/**
 * Runs `work` while no other process is inside the same lock file. A lock whose process is gone is taken over. Fails
 * with `lock_timeout` (retryable) after `waitMs` milliseconds.
 */
export async function withFolderLock<T>(path: string, waitMs: number, work: () => Promise<T>): Promise<T> {
  const token = `${process.pid} ${randomUUID()}`;
  const end = performance.now() + waitMs;
  held.add(token);
  try {
    while (!create(path, token)) {
      takeOverIfStale(path);
      if (performance.now() > end) {
        throw new AppError('lock_timeout', `${path} is held by another process`, {
          retryable: true,
          hint: 'another daemon is starting or stopping on this ledger; remove the file if there is none',
        });
      }
      await delay(RETRY_MS);
    }
    try {
      return await work();
    } finally {
      if (read(path) === token) remove(path);
    }
  } finally {
    held.delete(token);
  }
}

function create(path: string, token: string): boolean {
  try {
    writeFileSync(path, token, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Renaming is atomic: of several that find a stale lock, each file goes to one of them. Who got another file than the
 * one that was judged (a new lock, made in between) puts it back.
 */
function takeOverIfStale(path: string): void {
  const token = read(path);
  if (token === null || !isStale(path, token)) return;
  const aside = `${path}.${randomUUID()}`;
  try {
    renameSync(path, aside);
    if (read(aside) !== token) linkSync(aside, path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT' && codeOf(error) !== 'EEXIST') throw error;
  } finally {
    remove(aside);
  }
}

function isStale(path: string, token: string): boolean {
  const pid = Number(token.split(' ')[0]);
  // Between its creation and its first byte a lock is empty: that is young, not stale.
  if (token !== '' && pid === process.pid) return !held.has(token);
  if (token !== '' && !isProcessRunning(pid)) return true;
  const modifiedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return modifiedMs !== undefined && Date.now() - modifiedMs > STALE_AFTER_MS;
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
