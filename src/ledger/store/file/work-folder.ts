import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { lockFile } from '../../../core/process/lock-file.ts';
import type { LedgerDb } from '../ledger-db.ts';

const LOCK = 'in-use.lock';
/** What `mkdtemp` adds to a prefix. */
const RANDOM_CHARACTERS = 6;
/** Whoever looks whether a folder is abandoned holds its lock no longer than this. */
const LOOK_MS = 5_000;

/**
 * Runs `work` with a folder of its own, whose name is `prefix` and six characters more; the folder goes when `work` is done.
 * First goes what processes that were killed have left under the same prefix.
 */
export async function inWorkFolder<T>(prefix: string, work: (folder: string) => Promise<T>): Promise<T> {
  removeAbandoned(prefix);
  const { folder, lock } = makeHeld(prefix);
  try {
    return await work(folder);
  } finally {
    lock.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Removes the work folders under this prefix that no living process uses. */
export function removeAbandoned(prefix: string): void {
  const parent = dirname(prefix);
  if (!existsSync(parent)) return;
  const start = basename(prefix);
  for (const name of readdirSync(parent)) {
    if (name.startsWith(start) && name.length === start.length + RANDOM_CHARACTERS)
      removeUnlessHeld(join(parent, name));
  }
}

/** Another process may take the folder for an abandoned one before its lock is held: then another one is made. */
function makeHeld(prefix: string): { folder: string; lock: LedgerDb } {
  const folder = mkdtempSync(prefix);
  try {
    const lock = lockFile(join(folder, LOCK), LOOK_MS);
    if (lock !== null && existsSync(folder)) return { folder, lock };
    lock?.close();
  } catch (error) {
    if (existsSync(folder)) throw error;
  }
  return makeHeld(prefix);
}

/** It goes while its lock is held here, so that its maker cannot have it meanwhile. */
function removeUnlessHeld(folder: string): void {
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
