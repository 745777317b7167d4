import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { lockFile } from '../../../core/process/lock-file.ts';
import type { LedgerDb } from '../ledger-db.ts';

const LOCK = 'in-use.lock';
/** Number of characters that `mkdtemp` appends to a prefix. */
const RANDOM_CHARACTERS = 6;
/** The longest time that another process may hold the folder's lock while it checks whether the folder is abandoned. */
const ABANDONED_CHECK_MAX_MS = 5_000;

/**
 * Creates a folder named `prefix` plus six characters, runs `work` with it, and deletes it afterwards. Before that,
 * deletes the folders with the same prefix that killed processes left behind.
 */
export async function withWorkFolder<T>(prefix: string, work: (folder: string) => Promise<T>): Promise<T> {
  removeAbandonedFolders(prefix);
  const { folder, lock } = createLocked(prefix);
  try {
    return await work(folder);
  } finally {
    lock.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Deletes the work folders whose names begin with this prefix and that no running process uses. */
export function removeAbandonedFolders(prefix: string): void {
  const parent = dirname(prefix);
  if (!existsSync(parent)) return;
  const start = basename(prefix);
  for (const name of readdirSync(parent)) {
    if (name.startsWith(start) && name.length === start.length + RANDOM_CHARACTERS)
      removeUnlessLocked(join(parent, name));
  }
}

/**
 * Creates a folder and locks it. If another process deletes the folder as abandoned before it is locked, creates
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

/** Deletes an abandoned folder. Holds the folder's lock meanwhile, so that no process starts to use the folder. */
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
