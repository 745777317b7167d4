import { existsSync, lstatSync, renameSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import Database from 'better-sqlite3';
import { fileTime, nextTurn } from '../../../core/clock.ts';
import { canHaveHappened } from '../../../core/stored-time.ts';
import type { VerifyReport } from '../../audit/verify/verify.ts';
import { faultOf, type SuspectFile, verifySound } from '../../audit/verify/verify-sound.ts';
import { copyLedger, isLedgerItself, linkTo, SIDECARS, syncPath, withRemedy } from '../../store/file/ledger-file.ts';
import { openReader } from '../../store/file/open.ts';
import { LedgerError } from '../../store/file/sqlite-errors.ts';
import { inWorkFolder } from '../../store/file/work-folder.ts';

export interface BackupOrder {
  ledgerPath: string;
  /** The file to write; its folder must exist. */
  target: string;
  force?: boolean;
  signal: AbortSignal;
}

export interface BackupReport {
  path: string;
  sizeBytes: number;
  runs: number;
  entries: number;
  keys: number;
  headDigest: string;
}

/**
 * Writes a copy of the ledger as it stands between two runs, checks it (integrity, chain, invariant) and only then
 * gives it its name. The copy is one file (0600, rollback journal), which opens read-only from read-only media. Throws
 * LedgerError `backup_exists`, `backup_folder_missing`, `bad_backup_target`, `backup_faulty`, `backup_failed` and what
 * `openReader` throws; the reason of `signal` when it aborts. Whatever is thrown, nothing was left behind.
 */
export async function backupLedger({ ledgerPath, target, force, signal }: BackupOrder): Promise<BackupReport> {
  const path = resolve(target);
  const replace = force === true;
  requireFreeTarget(path, ledgerPath, replace);
  const reader = openReader(ledgerPath);
  try {
    return await inWorkFolder(workFolderPrefix(path), async (folder) => {
      const copy = join(folder, 'ledger.db');
      await copyLedger(reader.connection, copy, signal);
      const { runs, entries, keys, headDigest } = verifyCopy(copy, ledgerPath);
      // The check blocks: a signal that came meanwhile is delivered in the next turn.
      await nextTurn();
      signal.throwIfAborted();
      const sizeBytes = statSync(copy).size;
      moveInto(copy, path, replace);
      return { path, sizeBytes, runs, entries, keys, headDigest };
    });
  } catch (error) {
    throw withRemedy(faultOf(error, suspectOf(ledgerPath)), `cannot write ${path}`);
  } finally {
    reader.close();
  }
}

/** Where a backup to `path` is put together: in a folder beside it, of this name and six more characters. */
export function workFolderPrefix(path: string): string {
  return `${path}.part-`;
}

function suspectOf(ledgerPath: string): SuspectFile {
  return {
    what: `the copy of ${ledgerPath}`,
    hint: 'run `usage-ledger verify` to see whether the ledger itself is, and keep the backups that you have',
  };
}

function verifyCopy(copy: string, ledgerPath: string): VerifyReport {
  const connection = new Database(copy, { readonly: true });
  try {
    return verifySound(connection, suspectOf(ledgerPath));
  } finally {
    connection.close();
  }
}

/** Throws unless a backup may be written to this path, see `backupLedger`. */
export function requireFreeTarget(path: string, ledgerPath: string, replace: boolean): void {
  const folder = dirname(path);
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new LedgerError('backup_folder_missing', `there is no folder ${folder}`, {
      hint: 'create it, or name a file in another folder',
    });
  }
  if (isLedgerItself(path, ledgerPath)) {
    throw new LedgerError('bad_backup_target', `${path} is the ledger itself or belongs to it`, {
      hint: 'name another file, best on another disk',
    });
  }
  const sidecar = SIDECARS.map((suffix) => `${path}${suffix}`).find((file) => existsSync(file));
  if (sidecar !== undefined) {
    throw new LedgerError('bad_backup_target', `${sidecar} exists, and SQLite would take it for a part of the backup`, {
      hint: 'name another file, or remove that one if no program uses it',
    });
  }
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isFile()) {
    throw new LedgerError('bad_backup_target', `${path} exists and is not a file`, { hint: 'name another file' });
  }
  if (!replace) throw alreadyThere(path);
}

function alreadyThere(path: string): LedgerError {
  return new LedgerError('backup_exists', `${path} exists`, {
    hint: 'name another file, or add --force to replace it',
  });
}

/** A file that somebody made at `path` in the meantime is kept, unless it is to be replaced. */
function moveInto(copy: string, path: string, replace: boolean): void {
  if (replace) {
    renameSync(copy, path);
  } else if (!linkTo(copy, path, () => alreadyThere(path))) {
    if (existsSync(path)) throw alreadyThere(path);
    renameSync(copy, path);
  }
  syncPath(dirname(path));
}

const BACKUP_NAME = /^ledger-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/;

/** The name of a scheduled backup that is made now, such as `ledger-20260301T020000Z.db`. */
export function backupName(nowMs: number): string {
  return `ledger-${fileTime(nowMs)}.db`;
}

/** When a backup of this name was made, ISO-8601 UTC; null for a name that is none of a scheduled backup. */
export function backupTime(name: string): string | null {
  const parts = BACKUP_NAME.exec(name);
  if (parts === null) return null;
  const [, year, month, day, hour, minute, second] = parts;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
}

/** The newest of these names that is one of a scheduled backup; null when there is none. Those of the future do not count. */
export function newestBackup(names: readonly string[], nowMs: number): string | null {
  return (
    names
      .filter((name) => isKnown(name, nowMs))
      .sort()
      .at(-1) ?? null
  );
}

/**
 * The oldest scheduled backups, which are too many when `keep` are to stay; never the one of `newName`. One of the future
 * counts as older than any other. Other names are not among them.
 */
export function oldBackups(names: readonly string[], newName: string, keep: number, nowMs: number): string[] {
  const others = names.filter((name) => backupTime(name) !== null && name !== newName).sort();
  const ahead = others.filter((name) => !isKnown(name, nowMs));
  const byAge = [...ahead, ...others.filter((name) => isKnown(name, nowMs))];
  return byAge.slice(0, Math.max(0, byAge.length - (keep - 1)));
}

function isKnown(name: string, nowMs: number): boolean {
  const time = backupTime(name);
  return time !== null && canHaveHappened(Date.parse(time), nowMs);
}
