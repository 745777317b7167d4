import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { lockFile } from '../../../core/process/lock-file.ts';
import type { LedgerDb } from '../ledger-db.ts';

const LOCK = 'in-use.lock';
/** Number of characters that `mkdtemp` appends to a prefix. */
const RANDOM_CHARACTERS = 6;
/** A process that checks whether a folder is abandoned holds its lock for less than this. */
const ABANDONED_CHECK_MAX_MS = 5_000;

/**
 * Runs `work` with a folder of its own, named `prefix` plus six characters, and deletes the folder afterwards. First
 * deletes the folders that killed processes left behind under the same prefix.
 */
export async function inWorkFolder<T>(prefix: string, work: (folder: string) => Promise<T>): Promise<T> {
  removeAbandoned(prefix);
  const { folder, lock } = createLocked(prefix);
  try {
    return await work(folder);
  } finally {
    lock.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Deletes the work folders under this prefix that no living process uses. */
export function removeAbandoned(prefix: string): void {
  const parent = dirname(prefix);
  if (!existsSync(parent)) return;
  const start = basename(prefix);
  for (const name of readdirSync(parent)) {
    if (name.startsWith(start) && name.length === start.length + RANDOM_CHARACTERS)
      removeUnlessLocked(join(parent, name));
  }
}

/**
 * Creates a locked folder. Another process may delete it as abandoned before the lock is held; then this creates
 * another one.
 */
function createLocked(prefix: string): { folder: string; lock: LedgerDb } {
  const folder = mkdtempSync(prefix);
  try {
    const lock = lockFile(join(folder, LOCK), ABANDONED_CHECK_MAX_MS);
    if (lock !== null && existsSync(folder)) return { folder, lock };
    lock?.close();
  } catch (error) {
    if (existsSync(folder)) throw error;
  }
  return createLocked(prefix);
}

/** Deletes an abandoned folder. Holds its lock while deleting, so that its creator cannot take it meanwhile. */
function removeUnlessLocked(folder: string): void {
  let lock: LedgerDb | null = null;
  try {
    lock = lockFile(join(folder, LOCK), 0);
    if (lock !== null) rmSync(folder, { recursive: true, force: true });
  } catch (error) {
    if (!(error instanceof Database.SqliteError)) throw error;
  } finally {
    lock?.close();
  }
}
